//! A steady load on several controllers, and a record of what was acknowledged: submits, cancels
//! and requeues by kantctl on nodes, submits by a client that repeats its keys. Never stops at a
//! failure: it records it.

use crate::controllers::Controllers;
use crate::kantctl::Kantctl;
use crate::probe::Probe;
use common::id::JobId;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Each attempt holds a lock while anything of it lives, and says when it begins and ends.
pub(crate) const SCRIPT: &str = "#!/bin/sh\n\
    exec 9>>ran/$KANT_JOB_ID.lock\n\
    flock -n 9 || echo overlap >> ran/$KANT_JOB_ID\n\
    echo begin $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n\
    sleep 0.2\n\
    echo end $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n";

/// Between two wishes of one client.
const PACE: Duration = Duration::from_millis(80);

/// What was done to a job after it was submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Cancel,
    Requeue,
}

/// What clients were told.
#[derive(Debug, Default)]
pub struct Record {
    /// The jobs that were acknowledged, by whomever.
    pub acknowledged: Vec<JobId>,
    /// What was wished of some of them, whatever came of it.
    pub wishes: Vec<(JobId, Wish)>,
    /// Submits that were given up, and answers that were wrong.
    pub failed: Vec<String>,
}

/// A load under way.
#[derive(Debug, Default)]
pub struct Load(Mutex<Record>);

impl Load {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many submits were acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.record().acknowledged.len()
    }

    /// Notes a job that somebody else submitted, so that it is judged with the others.
    pub fn note(&self, job: JobId) {
        self.record().acknowledged.push(job);
    }

    /// Waits until so many more submits were acknowledged.
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

/// A client of [`under_load`]'s kind, for who measures.
///
/// # Errors
/// The system's.
pub fn probe(house: &Controllers, name: &str) -> anyhow::Result<Probe> {
    Probe::new(name, &house.sockets(), house.dir(), SCRIPT)
}

/// Does something while clients on these nodes, and one that asks the controllers there are now,
/// submit, cancel and requeue.
///
/// # Errors
/// That of what is done; what befell the clients is in the record.
pub fn under_load<T>(
    house: &mut Controllers,
    nodes: &[&str],
    during: impl FnOnce(&mut Controllers, &Load) -> anyhow::Result<T>,
) -> anyhow::Result<(T, Record)> {
    std::fs::create_dir_all(house.dir().join("ran"))?;
    let script = house.dir().join("load.sh");
    std::fs::write(&script, SCRIPT)?;
    let load = Load::default();
    let mut client = probe(house, "load")?;
    let of_nodes: Vec<Kantctl> = nodes.iter().map(|node| house.kantctl_on_node(node)).collect();
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
        let done = during(house, load);
        drop(stops);
        done
    })?;
    Ok((done, load.0.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Paces a client; false once it is to stop.
fn goes_on(stopped: &Receiver<()>) -> bool {
    stopped.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout)
}

fn by_kantctl(kantctl: &Kantctl, load: &Load, number: usize, stopped: &Receiver<()>) {
    let mut last: Option<JobId> = None;
    let mut turn = number;
    while goes_on(stopped) {
        turn += 1;
        match submit(kantctl) {
            Ok(job) => {
                load.note(job);
                let wished = [None, Some(Wish::Cancel), None, Some(Wish::Requeue)][turn % 4];
                if let (Some(job), Some(wish)) = (last, wished) {
                    put(kantctl, load, job, wish);
                }
                last = Some(job);
            }
            Err(error) => load.record().failed.push(format!("{error:#}")),
        }
    }
}

fn submit(kantctl: &Kantctl) -> anyhow::Result<JobId> {
    let id = kantctl.ok(&["submit", "--parsable", "--mem=16M", "-o", "/dev/null", "load.sh"])?;
    Ok(JobId(id.trim().parse()?))
}

/// The job may be over by now: a refusal is no failure.
fn put(kantctl: &Kantctl, load: &Load, job: JobId, wish: Wish) {
    let verb = match wish {
        Wish::Cancel => "cancel",
        Wish::Requeue => "requeue",
    };
    load.record().wishes.push((job, wish));
    if let Err(error) = kantctl.run(&[verb, &job.to_string()]) {
        load.record().failed.push(format!("{error:#}"));
    }
}

fn by_probe(client: &mut Probe, load: &Load, stopped: &Receiver<()>) {
    while goes_on(stopped) {
        let told = client.submit().and_then(|job| {
            load.note(job);
            client.submit_again(job)?;
            client.look(job)
        });
        if let Err(error) = told {
            load.record().failed.push(format!("{error:#}"));
        }
    }
}
