//! What a node holds: the phase of every attempt that it launched or adopted and has not yet
//! forgotten. An attempt counts as observed from the moment its launch begins. Never guesses.

use common::id::{Attempt, AttemptId, JobKey};
use common::time::Span;
use common::wire::node::{StepPhase, StepStatus};
use std::collections::BTreeMap;

/// So many jobs are remembered after their last attempt was forgotten; the oldest go first. Enough
/// to catch a controller that repeats itself, small enough never to be felt.
const PAST_JOBS_MAX: usize = 10_000;

/// The attempts a node holds, and where each is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observed {
    held: BTreeMap<AttemptId, StepPhase>,
    /// The newest forgotten attempt of each job, so that none is launched a second time.
    past: BTreeMap<JobKey, Attempt>,
    /// How often their jobs were given another size, as far as they were told by this kantd.
    sizes: BTreeMap<AttemptId, u32>,
    /// The time limits that they keep to, as far as they were told by this kantd.
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

    /// Notes the phase of an attempt.
    pub fn insert(&mut self, id: AttemptId, phase: StepPhase) {
        self.held.insert(id, phase);
    }

    /// Forgets an attempt, but not that it was here.
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

    /// Notes the time limit that an attempt was told.
    pub fn note_limit(&mut self, id: AttemptId, limit: Span) {
        self.limits.insert(id, limit);
    }

    /// Notes that an attempt was told of its size, changed so often by then.
    pub fn note_size(&mut self, id: AttemptId, number: u32) {
        self.sizes.insert(id, number);
    }

    /// How often its size had changed when it was last told; `None`: nobody knows.
    #[must_use]
    pub fn size(&self, id: AttemptId) -> Option<u32> {
        self.sizes.get(&id).copied()
    }

    /// The time limit it was told; `None`: nobody knows.
    #[must_use]
    pub fn limit(&self, id: AttemptId) -> Option<Span> {
        self.limits.get(&id).copied()
    }

    /// The newest attempt of a job that was here and is forgotten.
    #[must_use]
    pub fn past(&self, key: JobKey) -> Option<Attempt> {
        self.past.get(&key).copied()
    }

    /// Puts on a board what is held now; true if that is news there. What was forgotten stays
    /// here: nobody else asks for it, and after many jobs it would be nearly all there is to copy.
    pub fn show_on(&self, board: &mut Self) -> bool {
        let news = board.held != self.held;
        if news {
            board.held.clone_from(&self.held);
        }
        news
    }

    /// Where an attempt is; `None` if the node does not hold it.
    #[must_use]
    pub fn phase(&self, id: AttemptId) -> Option<&StepPhase> {
        self.held.get(&id)
    }

    /// Is it held, and not over?
    #[must_use]
    pub fn is_living(&self, id: AttemptId) -> bool {
        self.phase(id).is_some_and(is_living)
    }

    /// Every attempt, by id.
    pub fn iter(&self) -> impl Iterator<Item = (AttemptId, &StepPhase)> {
        self.held.iter().map(|(id, phase)| (*id, phase))
    }

    /// The living attempts of one job, oldest first.
    pub fn living_of(&self, key: JobKey) -> impl Iterator<Item = AttemptId> {
        let id = |attempt| AttemptId { key, attempt: Attempt(attempt) };
        let held = self.held.range(id(0)..=id(u32::MAX));
        held.filter(|(_, phase)| is_living(phase)).map(|(id, _)| *id)
    }

    /// All of it, as a node's Hello says it.
    #[must_use]
    pub fn statuses(&self) -> Vec<StepStatus> {
        self.iter().map(|(id, phase)| StepStatus { id, phase: phase.clone() }).collect()
    }

    /// What to report to somebody who last heard `earlier`. A forgotten attempt is no news: it was
    /// forgotten because the controller no longer wants it.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Vec<StepStatus> {
        let is_news = |(id, phase): &(AttemptId, &StepPhase)| earlier.phase(*id) != Some(*phase);
        let news = self.iter().filter(is_news);
        news.map(|(id, phase)| StepStatus { id, phase: phase.clone() }).collect()
    }
}

/// Not over: it holds resources of the node.
pub(crate) const fn is_living(phase: &StepPhase) -> bool {
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
    fn a_board_shows_what_is_held_and_hears_of_news_only() {
        let id = |job| AttemptId { key: JobKey::single(JobId(job)), attempt: Attempt(1) };
        let (mut observed, mut board) = (Observed::new(), Observed::new());
        assert!(!observed.show_on(&mut board));
        observed.insert(id(1), StepPhase::Ready);
        assert!(observed.show_on(&mut board) && !observed.show_on(&mut board));
        assert!(board.is_living(id(1)));
        observed.forget(id(1));
        assert!(observed.show_on(&mut board));
        assert_eq!((board.iter().count(), board.past(id(1).key)), (0, None));
        assert_eq!(observed.past(id(1).key), Some(Attempt(1)));
    }
}
