//! The lines to all starters of a step, and which task stands at the end of which. Never waits.

use super::Step;
use crate::failure::Failure;
use crate::step::booking::random_number;
use crate::step::frame::{ALL, Frame, Kind};
use crate::step::keeper::lease;
use crate::step::line::{self, Ear, News, Remote};
use crate::step::place::Task;
use crate::step::plan::{NodePlan, TaskPlan, VERSION};
use crate::step::terminal;
use anyhow::Context;
use common::id::{NodeName, TaskNumber};
use common::time::Span;
use common::wire::api::LaunchRequest;
use common::wire::node::{Manner, StepMark};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::PoisonError;
use tokio::process::Command;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Between SIGTERM and SIGKILL when we are gone.
const GRACE_SECONDS: u64 = 10;
/// A starter is told after so many bytes of its output what was taken of it.
const TAKEN_BYTES: u64 = 256 << 10;
/// The verb of a starter.
const STARTER: &str = "step-tasks";
/// What a starter is asked for as, where the node does not know better.
const USUAL_PATH: &str = "/usr/bin/kantctl";

struct Line {
    /// `None`: all is over there.
    send: Option<UnboundedSender<Vec<u8>>>,
    /// The rank of its first task, and how many it has.
    first: u32,
    count: u32,
    sent: u64,
    read: u64,
    /// So many bytes came, and its starter knows of so many.
    heard: [u64; 2],
}

/// All of them, by the places of their nodes in the step.
pub struct Lines(Vec<std::cell::RefCell<Line>>);

impl Lines {
    /// Is a starter left?
    pub fn any_open(&self) -> bool {
        self.0.iter().any(|line| line.borrow().send.is_some())
    }

    /// All is over at the end of this one.
    pub fn close(&mut self, line: usize) {
        if let Some(line) = self.0.get(line) {
            line.borrow_mut().send = None;
        }
    }

    /// The rank of a task at the end of a line.
    pub fn rank(&self, line: usize, task: u32) -> Option<u32> {
        let line = self.0.get(line)?.borrow();
        (task < line.count).then(|| line.first + task)
    }

    /// The most bytes on their way to a starter.
    pub fn ahead(&self) -> u64 {
        let ahead = |line: &Line| match line.send {
            Some(_) => line.sent.saturating_sub(line.read),
            None => 0,
        };
        self.0.iter().map(|line| ahead(&line.borrow())).max().unwrap_or(0)
    }

    /// A starter has read so many bytes.
    pub fn note_read(&mut self, line: usize, count: u64) {
        if let Some(line) = self.0.get(line) {
            line.borrow_mut().read = count;
        }
    }

    /// A frame came over a line, and was passed on: its starter may go on.
    pub fn note_heard(&self, line: usize, frame: &Frame) {
        let Some(known) = self.0.get(line) else { return };
        let heard = {
            let mut known = known.borrow_mut();
            known.heard[0] += frame.bytes_count();
            let [heard, told] = known.heard;
            if heard - told < TAKEN_BYTES {
                return;
            }
            known.heard[1] = heard;
            heard
        };
        self.send(line, &Frame::new(Kind::Taken, ALL, heard.to_le_bytes()));
    }

    pub fn send(&self, line: usize, frame: &Frame) {
        let Some(line) = self.0.get(line) else { return };
        let mut line = line.borrow_mut();
        let bytes = frame.bytes();
        line.sent += bytes.len() as u64;
        if let Some(send) = &line.send {
            // One whose starter is gone is about to be closed.
            let _ = send.send(bytes);
        }
    }

    pub fn send_all(&self, frame: &Frame) {
        (0..self.0.len()).for_each(|line| self.send(line, frame));
    }
}

/// Opens a line to each node, and sends each its plan.
///
/// # Errors
/// [`Failure`] when this machine refuses.
pub fn open(
    step: &Step<'_>,
    directory: &Path,
    readers: &[Vec<u32>],
    tell: Sender<(usize, News)>,
) -> Result<Lines, Failure> {
    let readers: BTreeSet<u32> = readers.iter().flatten().copied().collect();
    let environment = passed_on(step);
    let mut lines = Vec::new();
    let mut first = 0;
    for (number, (node, count)) in step.place.nodes.iter().enumerate() {
        let (send, sent) = unbounded_channel();
        let ear = Ear { number, tell: tell.clone() };
        if step.place.here.as_ref() == Some(node) {
            let own = std::env::current_exe().context("failed to find this program's own file")?;
            let mut command = Command::new(own);
            command.arg(STARTER).current_dir(directory).env_clear().envs(&environment);
            tokio::task::spawn_local(line::local(command, sent, ear));
        } else {
            let number = random_number()?;
            remote(step, node, first, number, directory, &environment, sent, ear);
        }
        let line = Line { send: Some(send), first, count: *count, sent: 0, read: 0, heard: [0; 2] };
        lines.push(std::cell::RefCell::new(line));
        first += count;
    }
    let lines = Lines(lines);
    for (number, plan) in plans(step, &readers, &environment).into_iter().enumerate() {
        let plan = serde_json::to_vec(&plan).context("failed to write the plan of a step")?;
        lines.send(number, &Frame::new(Kind::Plan, 0, plan));
    }
    Ok(lines)
}

#[allow(clippy::too_many_arguments)] // what a program on another node is made of
fn remote(
    step: &Step<'_>,
    node: &NodeName,
    first_rank: u32,
    task: TaskNumber,
    directory: &Path,
    environment: &BTreeMap<String, String>,
    sent: UnboundedReceiver<Vec<u8>>,
    ear: Ear,
) {
    let place = step.place;
    let (number, name) = (place.step, step.wish.name());
    let tasks = place.nodes.iter().map(|(_, count)| count).sum();
    let mark = StepMark { number, name, tasks, first_rank };
    let lease = Span::from_seconds(lease().as_secs());
    let manner = Manner { own_program: true, input: true, lease: Some(lease), step: Some(mark) };
    let request = LaunchRequest {
        task,
        node: node.to_string(),
        attempt: place.attempt,
        program: vec![USUAL_PATH.to_owned(), STARTER.to_owned()],
        environment: environment.clone(),
        work_dir: as_text(directory),
        manner,
    };
    let remote = Remote { server: std::sync::Arc::clone(&step.server), key: place.key, request };
    let spots = step.keeper.spots();
    let found = move |spot| spots.lock().unwrap_or_else(PoisonError::into_inner).push(spot);
    tokio::task::spawn_local(remote.hold(sent, ear, found));
}

/// What tasks get of our environment. A step is a step whatever is exported: who it is, is not the
/// user's to leave out.
fn passed_on(step: &Step<'_>) -> BTreeMap<String, String> {
    let own = &step.environment;
    let passed = match &step.wish.export {
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
    let (place, wish) = (step.place, step.wish);
    let meet: BTreeMap<String, String> =
        place.rendezvous(environment).into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
    let mut plans: Vec<NodePlan> = Vec::new();
    for task in place.tasks() {
        while plans.len() <= task.node {
            plans.push(NodePlan {
                version: VERSION,
                program: wish.program.clone(),
                environment: meet.clone(),
                tasks: Vec::new(),
                terminal: wish.pty.then(terminal::window),
                holds_back: true,
                grace_seconds: GRACE_SECONDS,
            });
        }
        let own = place.environment(task).into_iter().map(|(name, v)| (name.to_owned(), v));
        let input = readers.contains(&task.rank);
        let (cpus, gpus) = part(step, task);
        let own = TaskPlan { environment: own.collect(), cpus, gpus, input };
        plans[task.node].tasks.push(own);
    }
    plans
}

/// The CPUs and GPUs of a task: those of the step on its node, unless it is bound to some of them.
fn part(step: &Step<'_>, task: Task) -> (Vec<u32>, Option<Vec<u32>>) {
    let Some(view) = &step.view else { return (Vec::new(), None) };
    let node = step.place.node(task);
    let Some(share) = view.shares.iter().find(|share| Some(&share.node) == node) else {
        return (Vec::new(), None);
    };
    let all: Vec<u32> = share.cpus.iter().collect();
    let bound = step.wish.cpu_bind.of(task.local, share.tasks, step.cpus_each, &all);
    let own = if view.exclusive { all } else { Vec::new() };
    let cpus = if bound.is_empty() { own } else { bound };
    let seen = share.gpus.clone();
    let gpus = match &seen {
        Some(gpus) => step.wish.gpu_bind.of(task.local, gpus).or(seen),
        // All of the job's, of which the node knows how many there are.
        None => {
            let all: Vec<u32> = (0..step.place.gpus(task)).collect();
            step.wish.gpu_bind.of(task.local, &all)
        }
    };
    (cpus, gpus)
}

fn as_text(directory: &Path) -> String {
    directory.to_str().map_or_else(|| "/tmp".to_owned(), str::to_owned)
}
