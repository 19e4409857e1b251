//! The rounds of one leader: the scheduler's snapshot and the last round's result. They are not
//! replicated; a new leader makes them again. The engine decides.

use common::id::JobKey;
use common::time::{Span, Time};
use engine::check::Violation;
use engine::{Decision, Round, Snapshot};
use query::view::{self, Waits};
use state::snapshot::{SnapshotChanges, SnapshotKeeper, UsedSoFar, enact_command};
use state::{Command, Event, State};
use std::collections::BTreeSet;

/// How often usage is updated; it decays by the hour.
const USAGE_EVERY: Span = Span::from_minutes(1);

/// The outcome of a round.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The command to propose; `None` if there is nothing to do.
    pub command: Option<Command>,
    /// Defects of the engine found by the judge. Their jobs are left out of the command.
    pub violations: Vec<Violation>,
}

/// The result of a round before it is stored.
#[derive(Debug)]
pub struct RoundResult {
    round: Round,
    violations: Vec<Violation>,
}

/// Changes read from the state.
#[derive(Debug)]
pub struct PendingChanges {
    /// `None` if there are none.
    changes: Option<Changes>,
    /// The new usage, if it is due.
    usage: Option<UsedSoFar>,
}

impl PendingChanges {
    /// The changes of all but jobs, for a snapshot without jobs, if the events are known. `None` if
    /// there are none.
    #[must_use]
    pub fn outline(&self) -> Option<SnapshotChanges> {
        match self.changes.as_ref()? {
            Changes::Some(news) => news.without_jobs(),
            Changes::All(_) => None,
        }
    }

    /// The same in parts, each with at most `jobs_max` jobs that hold nothing. They are to be
    /// applied in order; the snapshot may be read in between.
    pub fn in_parts(self, jobs_max: usize) -> impl Iterator<Item = Self> {
        let (some, rest) = match self.changes {
            Some(Changes::Some(news)) => (news.in_parts(jobs_max), None),
            rest => (Vec::new(), Some(Self { changes: rest, usage: None })),
        };
        let part = |news| Self { changes: Some(Changes::Some(news)), usage: None };
        let usage = self.usage.map(|usage| Self { changes: None, usage: Some(usage) });
        some.into_iter().map(part).chain(rest).chain(usage)
    }
}

#[derive(Debug)]
enum Changes {
    Some(SnapshotChanges),
    All(Box<SnapshotKeeper>),
}

/// The snapshot and the last round.
#[derive(Debug, Default)]
pub struct Rounds {
    keeper: SnapshotKeeper,
    /// Whether the snapshot was built since the restart.
    is_begun: bool,
    round: Round,
    /// The time of the last round; 0 before the first.
    at: Time,
    /// The number of rounds.
    number: u64,
    is_stale: bool,
    usage_at: Time,
}

impl Rounds {
    /// Applies changes: `events` are all events since the state of the last call; `None` if some
    /// are unknown, and then the snapshot is rebuilt. To be called before each [`Self::round`] and
    /// [`Self::prepared_snapshot`].
    pub fn catch_up(&mut self, state: &State, events: Option<&[Event]>, now: Time) {
        let pending = self.read_changes(state, events, now);
        self.apply_changes(pending, now);
    }

    /// The first half of [`Self::catch_up`], which reads the state and changes nothing. The result
    /// is valid until other changes are applied.
    #[must_use]
    pub fn read_changes(
        &self,
        state: &State,
        events: Option<&[Event]>,
        now: Time,
    ) -> PendingChanges {
        let known = events.filter(|_| self.is_begun);
        let changes = match known {
            Some(events) => {
                (!events.is_empty()).then(|| Changes::Some(self.keeper.read_changes(state, events)))
            }
            None => Some(Changes::All(Box::new(SnapshotKeeper::new(state)))),
        };
        let is_due = known.is_none() || self.usage_at + USAGE_EVERY <= now;
        PendingChanges { changes, usage: is_due.then(|| UsedSoFar::by(state, now)) }
    }

    /// The second half, which does not need the state.
    pub fn apply_changes(&mut self, pending: PendingChanges, now: Time) {
        self.is_stale |= pending.changes.is_some();
        match pending.changes {
            Some(Changes::Some(news)) => self.keeper.apply_changes(news),
            Some(Changes::All(keeper)) => (self.keeper, self.is_begun) = (*keeper, true),
            None => {}
        }
        if let Some(usage) = pending.usage {
            self.keeper.set_usage(usage);
            self.usage_at = now;
        }
    }

    /// Whether the snapshot was built since the restart.
    #[must_use]
    pub const fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Adopts the snapshot of another value, which was rebuilt meanwhile. The last result stays.
    /// Returns the snapshot from before: it takes long to drop.
    pub fn adopt(&mut self, begun: Self) -> SnapshotKeeper {
        let Self { keeper, is_begun, usage_at, .. } = begun;
        (self.is_begun, self.usage_at, self.is_stale) = (is_begun, usage_at, true);
        std::mem::replace(&mut self.keeper, keeper)
    }

    /// Runs a round, unless nothing happened or is due that could change the last result. Takes
    /// long with many waiting jobs.
    pub fn round(&mut self, now: Time) -> Outcome {
        match self.begin_if_due(now) {
            true => self.finish(self.decide(now), now),
            false => Outcome::default(),
        }
    }

    /// The first part of a round: whether there is to be one.
    pub fn begin_if_due(&mut self, now: Time) -> bool {
        let is_due = self.round.next_look.is_some_and(|due| due <= now);
        if self.is_stale || is_due {
            self.keeper.snapshot_mut().prepare_for_round(now);
            return true;
        }
        false
    }

    /// The second part, which takes long with many waiting jobs. It changes nothing, so that others
    /// can read meanwhile.
    #[must_use]
    pub fn decide(&self, now: Time) -> RoundResult {
        let mut round = engine::schedule(self.keeper.snapshot(), now);
        let violations;
        (round.decisions, violations) =
            remove_violations(self.keeper.snapshot(), now, round.decisions);
        RoundResult { round, violations }
    }

    /// The third part. No changes may have been applied since the first.
    pub fn finish(&mut self, result: RoundResult, now: Time) -> Outcome {
        let RoundResult { round, violations } = result;
        let command = enact_command(&round.decisions);
        self.keeper.snapshot_mut().set_planned_starts(round.planned_starts.clone());
        self.keeper.snapshot_mut().set_resume_cursor(round.resume_cursor.clone());
        (self.round, self.at, self.is_stale) = (round, now, false);
        self.number += 1;
        Outcome { command, violations }
    }

    /// Makes the next round decide again, because the last one's command failed.
    pub fn force_round(&mut self) {
        self.is_stale = true;
    }

    /// Starts a term: the snapshot and the result of an earlier one are dropped.
    pub fn restart(&mut self) {
        *self = Self { number: self.number + 1, ..Self::default() };
    }

    /// The time until something is due without new events; `None` if nothing is.
    #[must_use]
    pub fn idle_for(&self, now: Time) -> Option<Span> {
        self.round.next_look.map(|due| due.since(now))
    }

    /// The snapshot as of the last changes.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        self.keeper.snapshot()
    }

    /// The snapshot as of the last changes, settled for `now`.
    pub fn prepared_snapshot(&mut self, now: Time) -> &Snapshot {
        self.keeper.snapshot_mut().prepare_for_round(now);
        self.keeper.snapshot()
    }

    /// The number of rounds and restarts; [`Self::wait_reasons`] is the same while this is.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The wait reasons of the last round as text. Takes long with many waiting jobs.
    #[must_use]
    pub fn wait_reasons(&self) -> Waits {
        view::waits(self.keeper.snapshot(), &self.round, self.at)
    }

    /// The snapshot and the result of the last round, with its time.
    #[must_use]
    pub fn last(&self) -> (&Snapshot, &Round, Time) {
        (self.keeper.snapshot(), &self.round, self.at)
    }
}

/// Removes decisions that the judge rejects, with the rest of their gangs, so that a defect affects
/// no other jobs.
fn remove_violations(
    snapshot: &Snapshot,
    now: Time,
    mut decisions: Vec<Decision>,
) -> (Vec<Decision>, Vec<Violation>) {
    let violations = engine::check::check_decisions(snapshot, now, &decisions);
    let is_guilty = |key: JobKey| violations.iter().any(|violation| violation.key == key);
    let guilty_groups: BTreeSet<JobKey> = decisions
        .iter()
        .filter_map(|decision| match decision {
            Decision::Start { key, group, .. } if is_guilty(*key) => *group,
            _ => None,
        })
        .collect();
    decisions.retain(|decision| match decision {
        Decision::Start { key, group, .. } => {
            !is_guilty(*key) && group.is_none_or(|group| !guilty_groups.contains(&group))
        }
        Decision::Preempt { key, by, .. } | Decision::Shrink { key, by, .. } => {
            !is_guilty(*key) && !is_guilty(*by)
        }
        Decision::Grow { key, .. } => !is_guilty(*key),
        _ => true,
    });
    (decisions, violations)
}

#[cfg(test)]
mod tests;
