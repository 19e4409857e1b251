//! A steady load on several controllers, with a record of acknowledged requests: submissions,
//! cancellations and requeues by kantctl on nodes, and submissions by a client that repeats its
//! request keys. A failure is recorded and does not end the load.

use crate::controllers::Controllers;
use crate::kantctl::Kantctl;
use crate::probe::Probe;
use common::id::JobId;
use common::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Each attempt holds a lock while any of its processes runs, and logs its begin and end.
pub(crate) const SCRIPT: &str = "#!/bin/sh\n\
    exec 9>>ran/$KANT_JOB_ID.lock\n\
    flock -n 9 || echo overlap >> ran/$KANT_JOB_ID\n\
    echo begin $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n\
    sleep 0.2\n\
    echo end $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n";

/// A job that is checked with those of a load, and runs until there is a file `stop`.
pub const LONG: &str = "#!/bin/sh\necho begin $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n\
    while [ ! -e stop ]; do sleep 0.1; done\necho end $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n";

/// The time between two requests of one client.
const PACE: Duration = Duration::from_millis(80);

/// A request about a job after its submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Cancel,
    Requeue,
}

/// The answers to all clients.
#[derive(Debug, Default)]
pub struct Record {
    /// The acknowledged jobs.
    pub acknowledged: Vec<JobId>,
    /// Requests about some of the jobs, whether granted or not.
    pub actions: Vec<(JobId, Action)>,
    /// Abandoned submissions and wrong answers.
    pub failed: Vec<String>,
}

/// A running load.
#[derive(Debug, Default)]
pub struct Load(Mutex<Record>);

impl Load {
    /// The number of acknowledged submissions.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.0.lock().acknowledged.len()
    }

    /// Records a job that the caller submitted, so that it is checked with the others.
    pub fn note(&self, job: JobId) {
        self.0.lock().acknowledged.push(job);
    }

    /// Waits until N more submissions are acknowledged.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn wait_for_more(&self, count: usize) -> anyhow::Result<()> {
        let enough = self.acknowledged() + count;
        crate::wait_for("submits to be acknowledged", || {
            Ok((self.acknowledged() >= enough).then_some(()))
        })
    }
}

/// A client like those of [`under_load`], for measurements.
///
/// # Errors
/// When a file cannot be written.
pub fn probe(controllers: &Controllers, name: &str) -> anyhow::Result<Probe> {
    Probe::new(name, &controllers.sockets(), controllers.dir(), SCRIPT)
}

/// Runs `during` while clients on these nodes, and one on the current controllers, submit, cancel
/// and requeue jobs.
///
/// # Errors
/// The error of `during`; failures of clients are in the record.
pub fn under_load<T>(
    controllers: &mut Controllers,
    nodes: &[&str],
    during: impl FnOnce(&mut Controllers, &Load) -> anyhow::Result<T>,
) -> anyhow::Result<(T, Record)> {
    std::fs::create_dir_all(controllers.dir().join("ran"))?;
    let script = controllers.dir().join("load.sh");
    std::fs::write(&script, SCRIPT)?;
    let load = Load::default();
    let mut client = probe(controllers, "load")?;
    let of_nodes: Vec<Kantctl> =
        nodes.iter().map(|node| controllers.kantctl_on_node(node)).collect();
    let done = std::thread::scope(|scope| {
        let mut stops = Vec::new();
        for (number, kantctl) in of_nodes.iter().enumerate() {
            let (stop, stopped) = channel();
            stops.push(stop);
            let load = &load;
            scope.spawn(move || by_kantctl(kantctl, load, number, &stopped));
        }
        let (stop, stopped) = channel();
        stops.push(stop);
        let load = &load;
        scope.spawn(move || by_probe(&mut client, load, &stopped));
        let done = during(controllers, load);
        drop(stops);
        done
    })?;
    Ok((done, load.0.into_inner()))
}

/// Waits between two requests; false: the client must stop.
fn wait_for_next_turn(stopped: &Receiver<()>) -> bool {
    stopped.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout)
}

fn by_kantctl(kantctl: &Kantctl, load: &Load, number: usize, stopped: &Receiver<()>) {
    let mut last: Option<JobId> = None;
    let mut turn = number;
    while wait_for_next_turn(stopped) {
        turn += 1;
        match submit(kantctl) {
            Ok(job) => {
                load.note(job);
                let next_action =
                    [None, Some(Action::Cancel), None, Some(Action::Requeue)][turn % 4];
                if let (Some(job), Some(action)) = (last, next_action) {
                    send_action(kantctl, load, job, action);
                }
                last = Some(job);
            }
            Err(error) => load.0.lock().failed.push(format!("{error:#}")),
        }
    }
}

fn submit(kantctl: &Kantctl) -> anyhow::Result<JobId> {
    let id = kantctl.ok(&["submit", "--parsable", "--mem=16M", "-o", "/dev/null", "load.sh"])?;
    Ok(JobId(id.trim().parse()?))
}

/// Sends a request about a job. The job may have ended, so a refusal is not a failure.
fn send_action(kantctl: &Kantctl, load: &Load, job: JobId, action: Action) {
    let verb = match action {
        Action::Cancel => "cancel",
        Action::Requeue => "requeue",
    };
    load.0.lock().actions.push((job, action));
    if let Err(error) = kantctl.run(&[verb, &job.to_string()]) {
        load.0.lock().failed.push(format!("{error:#}"));
    }
}

fn by_probe(client: &mut Probe, load: &Load, stopped: &Receiver<()>) {
    while wait_for_next_turn(stopped) {
        let result = client.submit().and_then(|job| {
            load.note(job);
            client.submit_again(job)?;
            client.look(job)
        });
        if let Err(error) = result {
            load.0.lock().failed.push(format!("{error:#}"));
        }
    }
}
