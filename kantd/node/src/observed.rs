//! The attempts on a node: the phase of each that it launched or adopted and has not forgotten. An
//! attempt is listed from the start of its launch.

use common::id::{Attempt, AttemptId, JobKey};
use common::time::Span;
use common::wire::node::{StepPhase, StepStatus};
use std::collections::BTreeMap;

/// Number of jobs remembered after their last attempt was forgotten: enough to catch a controller
/// that repeats itself.
const PAST_JOBS_MAX: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observed {
    held: BTreeMap<AttemptId, StepPhase>,
    /// The newest forgotten attempt of each job, which must not be launched again.
    past: BTreeMap<JobKey, Attempt>,
    /// The number of the last resize that each step got from this kantd.
    sizes: BTreeMap<AttemptId, u32>,
    /// The time limit that each step got from this kantd.
    limits: BTreeMap<AttemptId, Span>,
}

impl Observed {
    #[must_use]
    pub const fn new() -> Self {
        Self {
            held: BTreeMap::new(),
            past: BTreeMap::new(),
            sizes: BTreeMap::new(),
            limits: BTreeMap::new(),
        }
    }

    /// Sets the phase of an attempt.
    pub fn insert(&mut self, id: AttemptId, phase: StepPhase) {
        self.held.insert(id, phase);
    }

    /// Forgets an attempt, but remembers that it was here.
    pub fn forget(&mut self, id: AttemptId) {
        self.limits.remove(&id);
        self.sizes.remove(&id);
        if self.held.remove(&id).is_none() {
            return;
        }
        let past = self.past.entry(id.key).or_insert(id.attempt);
        *past = id.attempt.max(*past);
        if self.past.len() > PAST_JOBS_MAX {
            self.past.pop_first();
        }
    }

    /// Records the time limit sent to a step.
    pub fn record_limit(&mut self, id: AttemptId, limit: Span) {
        self.limits.insert(id, limit);
    }

    /// Records the number of the resize sent to a step.
    pub fn record_resize(&mut self, id: AttemptId, number: u32) {
        self.sizes.insert(id, number);
    }

    /// The number of the last resize sent to a step, if known.
    #[must_use]
    pub fn resize_number(&self, id: AttemptId) -> Option<u32> {
        self.sizes.get(&id).copied()
    }

    /// The time limit sent to a step, if known.
    #[must_use]
    pub fn limit(&self, id: AttemptId) -> Option<Span> {
        self.limits.get(&id).copied()
    }

    /// The newest forgotten attempt of a job.
    #[must_use]
    pub fn newest_forgotten_attempt(&self, key: JobKey) -> Option<Attempt> {
        self.past.get(&key).copied()
    }

    /// Copies the phases to `published`; true if they differ. Forgotten attempts are not copied:
    /// only this side needs them, and there may be many.
    pub fn copy_phases_to(&self, published: &mut Self) -> bool {
        let changed = published.held != self.held;
        if changed {
            published.held.clone_from(&self.held);
        }
        changed
    }

    /// The phase of an attempt, if the node has it.
    #[must_use]
    pub fn phase(&self, id: AttemptId) -> Option<&StepPhase> {
        self.held.get(&id)
    }

    /// Whether the node has the attempt and it has not ended.
    #[must_use]
    pub fn is_alive(&self, id: AttemptId) -> bool {
        self.phase(id).is_some_and(is_alive)
    }

    /// Every attempt, by id.
    pub fn iter(&self) -> impl Iterator<Item = (AttemptId, &StepPhase)> {
        self.held.iter().map(|(id, phase)| (*id, phase))
    }

    /// The attempts of a job that have not ended, oldest first.
    pub fn alive_attempts_of(&self, key: JobKey) -> impl Iterator<Item = AttemptId> {
        let id = |attempt| AttemptId { key, attempt: Attempt(attempt) };
        let held = self.held.range(id(0)..=id(u32::MAX));
        held.filter(|(_, phase)| is_alive(phase)).map(|(id, _)| *id)
    }

    /// All phases, for the Hello message.
    #[must_use]
    pub fn statuses(&self) -> Vec<StepStatus> {
        self.iter().map(|(id, phase)| StepStatus { id, phase: phase.clone() }).collect()
    }

    /// The changes to report to a receiver of `earlier`. A forgotten attempt is no change, because
    /// the controller did not want it any more.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Vec<StepStatus> {
        let is_news = |(id, phase): &(AttemptId, &StepPhase)| earlier.phase(*id) != Some(*phase);
        let changed = self.iter().filter(is_news);
        changed.map(|(id, phase)| StepStatus { id, phase: phase.clone() }).collect()
    }
}

/// Whether a phase holds resources of the node.
pub(crate) const fn is_alive(phase: &StepPhase) -> bool {
    !matches!(phase, StepPhase::Ended(_))
}

impl FromIterator<StepStatus> for Observed {
    fn from_iter<I: IntoIterator<Item = StepStatus>>(statuses: I) -> Self {
        let held = statuses.into_iter().map(|status| (status.id, status.phase)).collect();
        Self { held, ..Self::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::JobId;

    #[test]
    fn phases_are_copied_when_they_change_and_forgotten_attempts_are_not() {
        let id = |job| AttemptId { key: JobKey::single(JobId(job)), attempt: Attempt(1) };
        let (mut observed, mut published) = (Observed::new(), Observed::new());
        assert!(!observed.copy_phases_to(&mut published));
        observed.insert(id(1), StepPhase::Ready);
        assert!(
            observed.copy_phases_to(&mut published) && !observed.copy_phases_to(&mut published)
        );
        assert!(published.is_alive(id(1)));
        observed.forget(id(1));
        assert!(observed.copy_phases_to(&mut published));
        assert_eq!(
            (published.iter().count(), published.newest_forgotten_attempt(id(1).key)),
            (0, None)
        );
        assert_eq!(observed.newest_forgotten_attempt(id(1).key), Some(Attempt(1)));
    }
}
