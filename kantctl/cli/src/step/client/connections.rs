//! Connections to all launchers of a step, and the tasks behind each of them. Sending never blocks.

use super::Step;
use crate::failure::Failure;
use crate::step::connection::{self, Event, EventSender, RemoteLauncher};
use crate::step::frame::{ALL, Frame, Kind};
use crate::step::lease_renewer::lease_duration;
use crate::step::ledger_client::random_number;
use crate::step::placement::TaskPosition;
use crate::step::plan::{NodePlan, TaskPlan, VERSION};
use crate::step::raw_terminal;
use anyhow::Context;
use common::id::{NodeName, TaskNumber};
use common::time::Span;
use common::wire::api::LaunchRequest;
use common::wire::node::{Manner, StepMark};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tokio::process::Command;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Time between SIGTERM and SIGKILL after the client is gone.
const GRACE_SECONDS: u64 = 10;
/// A launcher is informed each time this many bytes of its output have been processed.
const TAKEN_BYTES: u64 = 256 << 10;
/// The launcher's verb.
const LAUNCHER: &str = "step-tasks";
/// The path of kantctl on a node that does not know a better one.
const USUAL_PATH: &str = "/usr/bin/kantctl";

struct Connection {
    /// `None` after the connection has ended.
    send: Option<UnboundedSender<Vec<u8>>>,
    /// The rank of its first task, and the number of its tasks.
    first: u32,
    count: u32,
    sent: u64,
    read: u64,
    /// Bytes that were received, and bytes that its launcher knows to be received.
    received: [u64; 2],
}

/// Connections by the index of their node in the step.
pub struct Connections(Vec<std::cell::RefCell<Connection>>);

impl Connections {
    /// Whether any connection is open.
    pub fn any_open(&self) -> bool {
        self.0.iter().any(|connection| connection.borrow().send.is_some())
    }

    /// Closes a connection.
    pub fn close(&mut self, connection: usize) {
        if let Some(connection) = self.0.get(connection) {
            connection.borrow_mut().send = None;
        }
    }

    /// The rank of a task behind a connection.
    pub fn rank(&self, connection: usize, task: u32) -> Option<u32> {
        let connection = self.0.get(connection)?.borrow();
        (task < connection.count).then(|| connection.first + task)
    }

    /// The largest number of bytes on their way to a launcher.
    pub fn bytes_in_flight_max(&self) -> u64 {
        let ahead = |connection: &Connection| match connection.send {
            Some(_) => connection.sent.saturating_sub(connection.read),
            None => 0,
        };
        self.0.iter().map(|connection| ahead(&connection.borrow())).max().unwrap_or(0)
    }

    /// Records how many bytes a launcher has read.
    pub fn note_read(&mut self, connection: usize, count: u64) {
        if let Some(connection) = self.0.get(connection) {
            connection.borrow_mut().read = count;
        }
    }

    /// Records a frame from a launcher that was processed, and allows the launcher to continue.
    pub fn note_received(&self, connection: usize, frame: &Frame) {
        let Some(known) = self.0.get(connection) else { return };
        let total = {
            let mut known = known.borrow_mut();
            known.received[0] += frame.bytes_count();
            let [received, reported] = known.received;
            if received - reported < TAKEN_BYTES {
                return;
            }
            known.received[1] = received;
            received
        };
        self.send(connection, &Frame::new(Kind::Taken, ALL, total.to_le_bytes()));
    }

    pub fn send(&self, connection: usize, frame: &Frame) {
        let Some(connection) = self.0.get(connection) else { return };
        let mut connection = connection.borrow_mut();
        let bytes = frame.bytes();
        connection.sent += bytes.len() as u64;
        if let Some(send) = &connection.send {
            // A connection without a launcher is about to be closed.
            let _ = send.send(bytes);
        }
    }

    pub fn send_all(&self, frame: &Frame) {
        (0..self.0.len()).for_each(|connection| self.send(connection, frame));
    }
}

/// Connects to the launcher on each node, and sends it its plan.
///
/// # Errors
/// [`Failure`] when a local launcher cannot be started.
pub fn open(
    step: &Step<'_>,
    directory: &Path,
    readers: &[Vec<u32>],
    sender: Sender<(usize, Event)>,
) -> Result<Connections, Failure> {
    let readers: BTreeSet<u32> = readers.iter().flatten().copied().collect();
    let environment = task_environment(step);
    let mut connections = Vec::new();
    let mut first = 0;
    for (number, (node, count)) in step.placement.nodes.iter().enumerate() {
        let (send, sent) = unbounded_channel();
        let events = EventSender { number, sender: sender.clone() };
        if step.placement.here.as_ref() == Some(node) {
            let own = std::env::current_exe().context("failed to find this program's own file")?;
            let mut command = Command::new(own);
            command.arg(LAUNCHER).current_dir(directory).env_clear().envs(&environment);
            tokio::task::spawn_local(connection::run_local(command, sent, events));
        } else {
            let number = random_number()?;
            connect_remote(step, node, first, number, directory, &environment, sent, events);
        }
        let connection = Connection {
            send: Some(send),
            first,
            count: *count,
            sent: 0,
            read: 0,
            received: [0; 2],
        };
        connections.push(std::cell::RefCell::new(connection));
        first += count;
    }
    let connections = Connections(connections);
    for (number, plan) in plans(step, &readers, &environment).into_iter().enumerate() {
        let plan = serde_json::to_vec(&plan).context("failed to write the plan of a step")?;
        connections.send(number, &Frame::new(Kind::Plan, 0, plan));
    }
    Ok(connections)
}

#[allow(clippy::too_many_arguments)] // the parameters of a remote launcher
fn connect_remote(
    step: &Step<'_>,
    node: &NodeName,
    first_rank: u32,
    task: TaskNumber,
    directory: &Path,
    environment: &BTreeMap<String, String>,
    sent: UnboundedReceiver<Vec<u8>>,
    events: EventSender,
) {
    let placement = step.placement;
    let (number, name) = (placement.step, step.options.name());
    let tasks = placement.nodes.iter().map(|(_, count)| count).sum();
    let mark = StepMark { number, name, tasks, first_rank };
    let lease = Span::from_seconds(lease_duration().as_secs());
    let manner = Manner { own_program: true, input: true, lease: Some(lease), step: Some(mark) };
    let request = LaunchRequest {
        task,
        node: node.to_string(),
        attempt: placement.attempt,
        program: vec![USUAL_PATH.to_owned(), LAUNCHER.to_owned()],
        environment: environment.clone(),
        work_dir: as_text(directory),
        manner,
    };
    let remote =
        RemoteLauncher { server: std::sync::Arc::clone(&step.server), key: placement.key, request };
    let launchers = step.lease_renewer.launchers();
    let found = move |launcher| launchers.lock().push(launcher);
    tokio::task::spawn_local(remote.run(sent, events, found));
}

/// The environment for tasks. Variables that describe the job are always included, whatever the
/// user exports.
fn task_environment(step: &Step<'_>) -> BTreeMap<String, String> {
    let own = &step.environment;
    let passed = match &step.options.export {
        Some(export) => export.apply(own),
        None => own.clone(),
    };
    let of_job = own.iter().filter(|(name, _)| {
        ["SLURM_", "SLURMD_", "KANT_"].iter().any(|prefix| name.starts_with(prefix))
    });
    passed.into_iter().chain(of_job.map(|(n, v)| (n.clone(), v.clone()))).collect()
}

fn plans(
    step: &Step<'_>,
    readers: &BTreeSet<u32>,
    environment: &BTreeMap<String, String>,
) -> Vec<NodePlan> {
    let (placement, options) = (step.placement, step.options);
    let meet: BTreeMap<String, String> =
        placement.rendezvous(environment).into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
    let mut plans: Vec<NodePlan> = Vec::new();
    for task in placement.tasks() {
        while plans.len() <= task.node {
            plans.push(NodePlan {
                version: VERSION,
                program: options.program.clone(),
                environment: meet.clone(),
                tasks: Vec::new(),
                terminal: options.pty.then(raw_terminal::window),
                holds_back: true,
                grace_seconds: GRACE_SECONDS,
            });
        }
        let own = placement.environment(task).into_iter().map(|(name, v)| (name.to_owned(), v));
        let input = readers.contains(&task.rank);
        let (cpus, gpus) = task_resources(step, task);
        let own = TaskPlan { environment: own.collect(), cpus, gpus, input };
        plans[task.node].tasks.push(own);
    }
    plans
}

/// The CPUs and GPUs of a task: those of the step on its node, unless the task is bound to some.
fn task_resources(step: &Step<'_>, task: TaskPosition) -> (Vec<u32>, Option<Vec<u32>>) {
    let Some(view) = &step.view else { return (Vec::new(), None) };
    let node = step.placement.node(task);
    let Some(share) = view.shares.iter().find(|share| Some(&share.node) == node) else {
        return (Vec::new(), None);
    };
    let all: Vec<u32> = share.cpus.iter().collect();
    let bound = step.options.cpu_bind.cpus_of_task(task.local, share.tasks, step.cpus_each, &all);
    let own = if view.exclusive { all } else { Vec::new() };
    let cpus = if bound.is_empty() { own } else { bound };
    let seen = share.gpus.clone();
    let gpus = match &seen {
        Some(gpus) => step.options.gpu_bind.gpus_of_task(task.local, gpus).or(seen),
        // All GPUs of the job; the placement knows their number.
        None => {
            let all: Vec<u32> = (0..step.placement.gpus(task)).collect();
            step.options.gpu_bind.gpus_of_task(task.local, &all)
        }
    };
    (cpus, gpus)
}

fn as_text(directory: &Path) -> String {
    directory.to_str().map_or_else(|| "/tmp".to_owned(), str::to_owned)
}
