//! Running jobs that may be moved, jobs that are being moved, and the rate of moves.
//! `round::fair_share` decides which jobs move.
//!
//! A job that is moved is stopped, and starts again elsewhere from its last checkpoint. Therefore
//! only a preemptible job moves that is requeued when it is preempted, holds GPUs, has no deadline
//! and no reservation, and would not lose more work than the policy allows.

use super::Snapshot;
use crate::model::job::{RunningJob, WaitingJob};
use common::id::JobKey;
use common::job::Moving;
use common::policy::{MOVES_COUNTED, VictimMode};
use common::time::Time;
use std::sync::Arc;

const MS_PER_MINUTE: u64 = 60_000;

impl Snapshot {
    /// Sets how a running job would wait if it were stopped to be moved. `None`: it may not be
    /// moved. Reset whenever the job's allocation is set again.
    pub fn set_movable(&mut self, key: JobKey, job: Option<Arc<WaitingJob>>) {
        self.movable.remove(&key);
        let is_free = |job: &Arc<WaitingJob>| {
            let meets = job.deadline.is_some() || job.reservation.is_some();
            !meets && job.together.is_none() && !job.service
        };
        if let Some(job) = job.filter(|job| self.policy.may_move() && is_free(job)) {
            self.movable.insert(key, job);
        }
    }

    /// Sets the place kept for a job that is being moved. `None`: no place is kept.
    pub fn set_moving(&mut self, key: JobKey, moving: Option<Moving>) {
        match moving {
            Some(moving) => _ = self.moving.insert(key, moving),
            None => _ = self.moving.remove(&key),
        }
    }

    /// Sets when jobs were moved in the last hour.
    pub fn set_move_times(&mut self, moves: Vec<Time>) {
        self.moves = moves;
    }

    /// Whether a place is kept for this job, which was stopped to be moved there.
    pub(crate) fn is_moving(&self, key: JobKey, now: Time) -> bool {
        self.moving.get(&key).is_some_and(|moving| now < moving.until)
    }

    /// An ending job that will start again elsewhere, as it will wait then.
    pub(crate) fn restarts_elsewhere(&self, key: JobKey, now: Time) -> Option<&Arc<WaitingJob>> {
        let goes = self.is_moving(key, now) && self.ending.contains_key(&key);
        self.movable.get(&key).filter(|_| goes)
    }

    /// How many more jobs may be moved in this hour.
    pub(crate) fn moves_left(&self, now: Time) -> u32 {
        if !self.policy.fair_sharing {
            return 0;
        }
        let made = self.moves.iter().filter(|at| **at + MOVES_COUNTED > now).count();
        self.policy.moves.per_hour.saturating_sub(u32::try_from(made).unwrap_or(u32::MAX))
    }

    /// When more jobs may be moved than now.
    pub(crate) fn more_moves_at(&self, now: Time) -> Option<Time> {
        let again = self.moves.iter().map(|at| *at + MOVES_COUNTED).filter(|at| *at > now);
        again.min().filter(|_| !self.policy.moves.is_off())
    }

    /// How the job would wait, if it may be moved now. The queue's `runtime_min` is not checked
    /// here.
    pub(crate) fn may_move(&self, job: &RunningJob, now: Time) -> Option<&Arc<WaitingJob>> {
        // Most jobs may not be moved; return before summing up what the job holds.
        let again = self.movable.get(&job.key)?;
        let gpus = job.allocation.shares().iter().map(|share| {
            let each = share.gpu_milli.map_or(1000, |milli| u64::from(milli.0));
            each.saturating_mul(share.gpus.len() as u64)
        });
        let gpu_milli: u64 = gpus.sum();
        let lost =
            gpu_milli.saturating_mul(now.since(job.unsaved_since()).0) / 1000 / MS_PER_MINUTE;
        let is_cheap = gpu_milli > 0 && lost <= self.policy.moves.lost_gpu_minutes_max;
        let may = is_cheap
            && job.preemptible
            && job.may_be_preempted()
            && job.yields_to.is_none()
            && job.victim_mode == VictimMode::Requeue;
        may.then_some(again)
    }
}
