//! The continuation of an earlier round that ran out of searches.

use super::{NoRoom, RoundState, TRIALS_MAX};
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::resume_cursor::{ResumeCursor, Searched, Step};
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::Snapshot;
use crate::policy::queue_scan::{Considered, Next};
use common::id::JobKey;
use common::policy::queue::Queue;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The results of searches in this and earlier rounds, and how many more this round may make.
pub(crate) struct Searches {
    left: u32,
    /// How many of `left` are reserved for jobs that no round has searched for yet.
    for_new: u32,
    /// Whether the results of earlier rounds are outdated.
    is_old: bool,
    /// For jobs that had their turn and still wait: from which end on their shape does not fit,
    /// whether they lacked room, and whether that is outdated.
    found: BTreeMap<JobKey, (Option<Time>, bool, bool)>,
    /// Those of these jobs that are the first of their queues for lack of quota.
    firsts: BTreeSet<JobKey>,
    ran_out: bool,
    repeated: bool,
}

impl Searches {
    pub fn new(snapshot: &Snapshot, now: Time) -> Self {
        let left = snapshot.trials_max.unwrap_or(TRIALS_MAX).max(1);
        let is_first = snapshot.resume_cursor.is_empty();
        Self {
            left,
            for_new: if is_first { 0 } else { left / 2 },
            is_old: are_results_outdated(snapshot, now),
            found: BTreeMap::new(),
            firsts: BTreeSet::new(),
            ran_out: false,
            repeated: false,
        }
    }

    /// Counts one search.
    pub fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Notes that the job keeps others waiting for what its queue lacks.
    pub fn note_blocking_job(&mut self, key: JobKey) {
        self.firsts.insert(key);
    }

    /// Whether the next round needs the results.
    pub const fn are_needed(&self) -> bool {
        self.ran_out || self.repeated
    }

    /// Notes a search without success.
    pub fn without_success(&mut self, key: JobKey, no_fit_from: Option<Time>, lacks_room: bool) {
        self.found.insert(key, (no_fit_from, lacks_room, false));
    }
}

/// Whether something was freed or became usable since the last round stopped.
fn are_results_outdated(snapshot: &Snapshot, now: Time) -> bool {
    let cursor = &snapshot.resume_cursor;
    let is_past = |time: Time| cursor.at < time && time <= now;
    let mut planned_starts = snapshot.planned_starts.values();
    !cursor.is_empty()
        && (cursor.is_freed
            || ((snapshot.is_looser || cursor.is_dropped) && cursor.at < now)
            || snapshot.reservations.values().any(|r| is_past(r.from) || is_past(r.to))
            || planned_starts.any(|start| !start.nodes.is_empty() && start.at < now))
}

impl<'a> RoundState<'a> {
    /// Whether an earlier round found that this job keeps others waiting for what its queue lacks.
    pub(super) fn was_blocking(&self, key: JobKey) -> bool {
        self.snapshot.resume_cursor.jobs.get(&key).is_some_and(|known| known.is_first)
    }

    /// What to do about this job now. `is_due`: its promised start has come.
    pub(super) fn next_step(&mut self, key: JobKey, is_due: bool) -> Step<'a> {
        let known = self.snapshot.resume_cursor.jobs.get(&key).filter(|_| !is_due);
        let searches = &mut self.searches;
        if let Some(known) = known {
            let is_old = known.is_old || searches.is_old;
            if !is_old || searches.left <= searches.for_new {
                let found = (known.no_fit_from, known.lacks_room, is_old);
                searches.found.insert(key, found);
                searches.ran_out |= is_old;
                searches.repeated = true;
                return Step::Repeat(known);
            }
        }
        if searches.left == 0 {
            searches.ran_out = true;
            return Step::Later;
        }
        Step::Search
    }

    /// Repeats the result of an earlier round.
    pub(super) fn repeat(
        &mut self,
        considered: &Considered<'a>,
        queue: &'a Queue,
        no: NoRoom<'a>,
        known: &Searched,
    ) -> Next {
        let (key, reason) = (considered.job.key, known.reason.clone());
        if let Some(from) = known.no_fit_from {
            self.shapes.note_no_fit(no.shape, from);
        }
        if !known.lacks_room {
            self.waits.set_reason(key, reason);
            return Next::MayTry;
        }
        let next = self.handle_no_room(considered, queue, no, None);
        let is_head = self.heads.get(&queue.name).is_some_and(|(head, _)| *head == key);
        if is_head && !self.planned_starts.contains_key(&key) {
            self.waits.set_earlier_reason(key, reason.clone());
        }
        if !self.planned_starts.contains_key(&key) {
            match next {
                Next::KindIsDone | Next::Shorter(_) => {
                    self.waits.set_earlier_kind_reason(considered.kind, reason)
                }
                Next::ClassIsDone => {
                    self.waits.set_earlier_kind_reason(considered.kind, reason.clone());
                    self.waits.set_earlier_reason(key, reason);
                }
                Next::MayTry => self.waits.set_earlier_reason(key, reason),
            }
        }
        next
    }

    /// Repeats the results for all components of a set. Returns whether all of them were searched
    /// for.
    pub(super) fn repeat_together(&mut self, components: &[&'a Arc<WaitingJob>]) -> bool {
        let resume_cursor = &self.snapshot.resume_cursor;
        let found = |job: &&'a Arc<WaitingJob>| Some((*job, resume_cursor.jobs.get(&job.key)?));
        let known: Option<Vec<_>> = components.iter().map(found).collect();
        let Some(known) = known else { return false };
        let mut failed = None;
        for (job, known) in known {
            let is_old = known.is_old || self.searches.is_old;
            let found = (known.no_fit_from, known.lacks_room, is_old);
            self.searches.found.insert(job.key, found);
            self.waits.set_earlier_reason(job.key, known.reason.clone());
            if known.lacks_room {
                failed = Some(job);
            }
        }
        if let Some(failed) = failed
            && let Some(queue) = self.queues.get(&failed.queue)
        {
            self.reserve_together(queue, failed, components);
        }
        true
    }

    pub(super) fn shape_of(&mut self, queue: &'a Queue, job: &'a Arc<WaitingJob>) -> ShapeIndex {
        self.shapes.for_job(&self.snapshot.cluster, &self.snapshot.policy, queue, job)
    }

    /// What to pass to the next round, after the reasons were made.
    pub(super) fn resume_cursor(&self, waits: &crate::round::waits::Waits) -> ResumeCursor {
        let searches = &self.searches;
        if !searches.are_needed() {
            return ResumeCursor::default();
        }
        let jobs = searches.found.iter().filter_map(|(key, found)| {
            let (no_fit_from, lacks_room, is_old) = *found;
            let reason = waits.known_reason(self.snapshot, *key)?.clone();
            let is_first = searches.firsts.contains(key);
            Some((*key, Searched { no_fit_from, lacks_room, is_old, is_first, reason }))
        });
        let before = &self.snapshot.resume_cursor;
        let is_dropped = self.has_dropped() || (before.is_dropped && before.at == self.now);
        let tried = BTreeSet::new();
        ResumeCursor { at: self.now, jobs: jobs.collect(), is_freed: false, is_dropped, tried }
    }

    /// Whether a promise was dropped whose job still waits.
    fn has_dropped(&self) -> bool {
        let starts = |key: JobKey| {
            let is_it = |one: &Decision| matches!(one, Decision::Start { key: k, .. } if *k == key);
            self.decisions.iter().any(is_it)
        };
        let gone = self
            .snapshot
            .planned_starts
            .keys()
            .filter(|key| !self.planned_starts.contains_key(key));
        gone.into_iter().any(|key| self.snapshot.waiting_job(*key).is_some() && !starts(*key))
    }

    /// Whether there was more to search for than a round may.
    pub(super) const fn ran_out(&self) -> bool {
        self.searches.ran_out
    }
}
