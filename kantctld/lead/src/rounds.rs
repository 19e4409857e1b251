//! The rounds of one leader: what its scheduler sees and what it last said. Not replicated: a new
//! leader's first round says it anew. Never decides anything; the engine does.

use common::id::JobKey;
use common::time::{Span, Time};
use engine::check::Violation;
use engine::{Decision, Round, Snapshot};
use state::snapshot::{self, Keeper, UsedSoFar, enactment};
use state::view::{self, Waits};
use state::{Command, Event, State};
use std::collections::BTreeSet;

/// Usage is said anew so often: it fades by hours.
const USAGE_EVERY: Span = Span::from_minutes(1);

/// What a round came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// To be proposed; `None`: there is nothing to do.
    pub command: Option<Command>,
    /// What the judge found: defects of the engine. What they touch is not in the command.
    pub violations: Vec<Violation>,
}

/// What a round thought, before it is kept.
#[derive(Debug)]
pub struct Thought {
    round: Round,
    violations: Vec<Violation>,
}

/// What happened, read from the state.
#[derive(Debug)]
pub struct Told {
    /// `None`: nothing.
    news: Option<News>,
    /// Said anew, where that is due.
    usage: Option<UsedSoFar>,
}

impl Told {
    /// The same in parts, each of at most so many jobs that hold nothing, to be taken up one after
    /// the other; others may look between.
    pub fn in_parts(self, jobs_max: usize) -> impl Iterator<Item = Self> {
        let (some, rest) = match self.news {
            Some(News::Some(news)) => (news.in_parts(jobs_max), None),
            rest => (Vec::new(), Some(Self { news: rest, usage: None })),
        };
        let some = some.into_iter().map(|news| Self { news: Some(News::Some(news)), usage: None });
        let usage = self.usage.map(|usage| Self { news: None, usage: Some(usage) });
        some.chain(rest).chain(usage)
    }
}

#[derive(Debug)]
enum News {
    Some(snapshot::News),
    All(Box<Keeper>),
}

/// What is seen, and what was said of it.
#[derive(Debug, Default)]
pub struct Rounds {
    keeper: Keeper,
    /// Has the keeper seen a state since the restart?
    is_begun: bool,
    round: Round,
    /// When that was; 0 before the first.
    at: Time,
    /// How many rounds there were.
    number: u64,
    is_stale: bool,
    usage_at: Time,
}

impl Rounds {
    /// Takes up what happened: `events` are all those between the state of the last time and this
    /// one; `None` if not all of them are known, and then everything is looked at again. To be
    /// called before each [`Self::round`] and [`Self::fresh`].
    pub fn catch_up(&mut self, state: &State, events: Option<&[Event]>, now: Time) {
        let told = self.told(state, events, now);
        self.take_up(told, now);
    }

    /// The first half of [`Self::catch_up`], which needs the state and changes nothing. It holds
    /// until something else is taken up.
    #[must_use]
    pub fn told(&self, state: &State, events: Option<&[Event]>, now: Time) -> Told {
        let known = events.filter(|_| self.is_begun);
        let news = match known {
            Some(events) => {
                (!events.is_empty()).then(|| News::Some(self.keeper.news(state, events)))
            }
            None => Some(News::All(Box::new(Keeper::new(state)))),
        };
        let is_due = known.is_none() || self.usage_at + USAGE_EVERY <= now;
        Told { news, usage: is_due.then(|| UsedSoFar::by(state, now)) }
    }

    /// The second half, which needs the state no more.
    pub fn take_up(&mut self, told: Told, now: Time) {
        self.is_stale |= told.news.is_some();
        match told.news {
            Some(News::Some(news)) => self.keeper.keep(news),
            Some(News::All(keeper)) => (self.keeper, self.is_begun) = (*keeper, true),
            None => {}
        }
        if let Some(usage) = told.usage {
            self.keeper.set_usage(usage);
            self.usage_at = now;
        }
    }

    /// Has it seen the state since the restart?
    #[must_use]
    pub const fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Takes over what another saw, which looked at everything meanwhile. What was said stays.
    pub fn adopt(&mut self, begun: Self) {
        let Self { keeper, is_begun, usage_at, .. } = begun;
        (self.keeper, self.is_begun, self.usage_at) = (keeper, is_begun, usage_at);
        self.is_stale = true;
    }

    /// Runs a round, unless nothing happened and nothing is due that could come to anything else
    /// than the last one. Takes long where many jobs wait.
    pub fn round(&mut self, now: Time) -> Outcome {
        match self.prepare(now) {
            true => self.keep(self.think(now), now),
            false => Outcome::default(),
        }
    }

    /// The first part of a round: is there to be one?
    pub fn prepare(&mut self, now: Time) -> bool {
        let is_due = self.round.next_look.is_some_and(|due| due <= now);
        if self.is_stale || is_due {
            self.keeper.snapshot_mut().settle(now);
            return true;
        }
        false
    }

    /// The second, which takes long where many jobs wait, and changes nothing: others may look
    /// meanwhile.
    #[must_use]
    pub fn think(&self, now: Time) -> Thought {
        let mut round = engine::schedule(self.keeper.snapshot(), now);
        let violations;
        (round.decisions, violations) = judged(self.keeper.snapshot(), now, round.decisions);
        Thought { round, violations }
    }

    /// The third. Nothing may have been caught up with since the first.
    pub fn keep(&mut self, thought: Thought, now: Time) -> Outcome {
        let Thought { round, violations } = thought;
        let command = enactment(&round.decisions);
        self.keeper.snapshot_mut().set_promises(round.promises.clone());
        self.keeper.snapshot_mut().set_halfway(round.halfway.clone());
        (self.round, self.at, self.is_stale) = (round, now, false);
        self.number += 1;
        Outcome { command, violations }
    }

    /// What the last round decided came to nothing: the next one decides again.
    pub fn look_again(&mut self) {
        self.is_stale = true;
    }

    /// A term of this leader begins: what was seen and said in an earlier one is void.
    pub fn restart(&mut self) {
        *self = Self { number: self.number + 1, ..Self::default() };
    }

    /// How long nothing is due, if nothing happens; `None`: for ever.
    #[must_use]
    pub fn idle_for(&self, now: Time) -> Option<Span> {
        self.round.next_look.map(|due| due.since(now))
    }

    /// The cluster as it was when last caught up with.
    #[must_use]
    pub fn seen(&self) -> &Snapshot {
        self.keeper.snapshot()
    }

    /// The cluster as it was when last caught up with, settled for now.
    pub fn fresh(&mut self, now: Time) -> &Snapshot {
        self.keeper.snapshot_mut().settle(now);
        self.keeper.snapshot()
    }

    /// How many rounds there were, and restarts: while it stays, [`Self::waits`] does.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Why jobs wait, by the last round, in words. Takes long where many jobs wait.
    #[must_use]
    pub fn waits(&self) -> Waits {
        view::waits(self.keeper.snapshot(), &self.round, self.at)
    }

    /// The cluster as the last round saw it, what that said, and when.
    #[must_use]
    pub fn last(&self) -> (&Snapshot, &Round, Time) {
        (self.keeper.snapshot(), &self.round, self.at)
    }
}

/// The decisions without what the judge does not pass: a defect that costs the jobs it touches, and
/// those that were to start with them, and nobody else.
fn judged(
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
