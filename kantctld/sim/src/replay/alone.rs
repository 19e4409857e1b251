//! The engine only: its snapshot is changed as jobs arrive and end. This stage is faster, for
//! tables of large traces. It does not check access or the lengths of jobs, and counts no use of
//! the cluster, so fair share is the same for all.

use super::stage::{Entry, Stage};
use super::{Cluster, ReplayError};
use common::id::{JobId, JobKey};
use common::job::{EndCause, Moving, PreemptReason};
use common::policy::{MOVE_KEPT, MOVES_COUNTED, Policy};
use common::time::Time;
use engine::{Decision, Round, Snapshot, WaitingJob};
use state::run_times::{RunTimes, Traits};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A snapshot without a state.
pub(super) struct EngineAlone {
    snapshot: Snapshot,
    last: JobId,
    /// Jobs that are being moved, and when jobs were moved lately.
    moving: BTreeMap<JobKey, Moving>,
    moved_at: Vec<Time>,
    run_times: RunTimes,
    /// The jobs that run, and since when.
    running: BTreeMap<JobKey, (Arc<WaitingJob>, Time)>,
}

impl EngineAlone {
    pub fn new(cluster: &Cluster, policy: Policy) -> Self {
        let mut snapshot = Snapshot::default();
        snapshot.set_policy(Arc::new(policy));
        cluster.snapshots().iter().for_each(|node| snapshot.set_node(node));
        snapshot.set_skip_reasons(true);
        snapshot.prepare_for_round(Time(0));
        Self {
            snapshot,
            last: JobId(0),
            moving: BTreeMap::new(),
            moved_at: Vec::new(),
            run_times: RunTimes::default(),
            running: BTreeMap::new(),
        }
    }
}

impl Stage for EngineAlone {
    fn submit(&mut self, job: &WaitingJob, now: Time) -> Result<Entry, ReplayError> {
        let queue = self.snapshot.policy().queues.iter().find(|queue| queue.name == job.queue);
        let could_hold = queue.is_some_and(|queue| {
            engine::could_ever_fit(&self.snapshot, queue, &job.request, job.service).is_ok()
        });
        if !could_hold {
            return Ok(Entry::NeverFits);
        }
        self.last = JobId(self.last.0 + 1);
        let key = JobKey::single(self.last);
        let by_expected = queue.is_some_and(|queue| queue.backfill.uses_expected_times());
        let expected = self.run_times.expected(job.owner, traits(job), now).filter(|_| by_expected);
        self.snapshot.set_waiting(WaitingJob { key, expected, ..job.clone() });
        Ok(Entry::Waits(key))
    }

    fn decide(&mut self, now: Time) -> Round {
        self.snapshot.prepare_for_round(now);
        let mut round = engine::schedule(&self.snapshot, now);
        self.snapshot.set_planned_starts(std::mem::take(&mut round.planned_starts));
        self.snapshot.set_resume_cursor(std::mem::take(&mut round.resume_cursor));
        round
    }

    fn enact(&mut self, round: &Round, now: Time) -> Result<(), ReplayError> {
        for decision in &round.decisions {
            match decision {
                Decision::Start { key, allocation, .. } => {
                    if let Some(job) = self.snapshot.waiting_job(*key) {
                        self.running.insert(*key, (job.clone(), now));
                    }
                    self.snapshot.start(*key, allocation.clone(), now);
                }
                Decision::Preempt { key, reason: PreemptReason::Move, to, .. } => {
                    self.moving.insert(*key, Moving { to: to.clone(), until: now + MOVE_KEPT });
                    self.moved_at.retain(|at| *at + MOVES_COUNTED > now);
                    self.moved_at.push(now);
                    self.snapshot.set_move_times(self.moved_at.clone());
                }
                _ => {}
            }
        }
        self.snapshot.add_found_full(round.full.clone());
        Ok(())
    }

    fn end_job(&mut self, key: JobKey, _: EndCause, now: Time) -> Result<(), ReplayError> {
        if let Some((job, began)) = self.running.remove(&key) {
            self.run_times.note(job.owner, traits(&job), now.since(began), now);
        }
        self.snapshot.remove_job(key);
        Ok(())
    }

    fn end_preempted(
        &mut self,
        key: JobKey,
        again: Option<&WaitingJob>,
        _: Time,
    ) -> Result<(), ReplayError> {
        self.snapshot.remove_job(key);
        let expected = self.running.remove(&key).and_then(|(job, _)| job.expected);
        let again_by = |job: &WaitingJob| WaitingJob { expected, ..job.clone() };
        again.into_iter().for_each(|job| self.snapshot.set_waiting(again_by(job)));
        self.snapshot.set_moving(key, self.moving.remove(&key).filter(|_| again.is_some()));
        Ok(())
    }

    fn waiting_count(&self) -> usize {
        self.snapshot.waiting_count()
    }
}

/// What similar jobs have in common with this one. Jobs of traces have no names, so they all have
/// that of a job without one.
fn traits(job: &WaitingJob) -> Traits<'_> {
    Traits { name: "job", request: &job.request, time_limit: job.time_limit }
}
