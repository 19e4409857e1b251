//! Where a replay plays: something that knows jobs and nodes and holds scheduling rounds. Never
//! knows how long a job truly runs.

use super::{Cluster, ReplayError};
use common::id::JobKey;
use common::policy::Policy;
use common::time::Time;
use engine::{Decision, Round, RunningJob, Snapshot, WaitingJob};
use std::sync::Arc;

/// Something that schedules: the engine alone, or with a whole state around it.
pub(super) trait Stage {
    /// A job waits.
    fn wait(&mut self, job: WaitingJob) -> Result<(), ReplayError>;
    /// A job that was decided to start holds its nodes.
    fn run(&mut self, job: RunningJob) -> Result<(), ReplayError>;
    /// A job is over.
    fn over(&mut self, key: JobKey) -> Result<(), ReplayError>;
    /// One scheduling round.
    fn round(&mut self, now: Time) -> Round;
    /// How many jobs wait.
    fn waiting(&self) -> usize;
    /// Can the cluster, empty, hold this job?
    fn could_hold(&self, job: &WaitingJob) -> bool;
}

/// The engine alone: its snapshot is changed as jobs come and go.
pub(super) struct Bare {
    snapshot: Snapshot,
}

impl Bare {
    pub fn new(cluster: &Cluster, policy: Arc<Policy>) -> Self {
        let mut snapshot = Snapshot::default();
        snapshot.set_policy(policy);
        cluster.snapshots().iter().for_each(|node| snapshot.set_node(node));
        snapshot.settle(Time(0));
        Self { snapshot }
    }
}

impl Stage for Bare {
    fn wait(&mut self, job: WaitingJob) -> Result<(), ReplayError> {
        self.snapshot.set_waiting(job);
        Ok(())
    }

    fn run(&mut self, job: RunningJob) -> Result<(), ReplayError> {
        self.snapshot.set_running(job);
        Ok(())
    }

    fn over(&mut self, key: JobKey) -> Result<(), ReplayError> {
        self.snapshot.remove_job(key);
        Ok(())
    }

    fn round(&mut self, now: Time) -> Round {
        self.snapshot.settle(now);
        let mut round = engine::schedule(&self.snapshot, now);
        self.snapshot.set_promises(std::mem::take(&mut round.promises));
        round
    }

    fn waiting(&self) -> usize {
        self.snapshot.waiting_count()
    }

    fn could_hold(&self, job: &WaitingJob) -> bool {
        let queue = self.snapshot.policy().queues.iter().find(|queue| queue.name == job.queue);
        queue.is_some_and(|queue| {
            engine::could_ever_fit(&self.snapshot, queue, &job.request, job.service).is_ok()
        })
    }
}

/// Does a round that decided this ask for another one at the same time? One that only started jobs
/// has looked at everybody; one that made jobs yield has room to give, and one that says so ran out
/// of trials.
pub(super) fn asks_for_another(round: &Round, now: Time) -> bool {
    let yields = round.decisions.iter().any(|one| matches!(one, Decision::Preempt { .. }));
    let is_short = round.next_look.is_some_and(|look| look <= now);
    yields || (is_short && !round.decisions.is_empty())
}
