//! What the leader's scheduler sees and what it last said: the kept snapshot, the last round, and
//! the reasons to wait, put in words when somebody asks. Not replicated: a new leader's first
//! round says it anew. Never decides anything; the engine does.

use crate::machine::SharedState;
use common::id::JobKey;
use common::time::{Span, Time};
use engine::{Decision, Round, Snapshot};
use state::Command;
use state::snapshot::{Keeper, enactment};
use state::view::{self, Waits};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Usage is said anew so often: it fades by hours.
const USAGE_EVERY: Span = Span::from_minutes(1);

/// What is seen, and what was said of it.
#[derive(Default)]
pub struct Lookout {
    seen: RwLock<Seen>,
    /// By the number of the round they are of.
    waits: Mutex<(u64, Arc<Waits>)>,
}

#[derive(Default)]
struct Seen {
    keeper: Keeper,
    round: Round,
    /// When that was; 0 before the first.
    at: Time,
    /// How many rounds there were.
    number: u64,
    /// Something happened since.
    is_stale: bool,
    usage_at: Time,
}

impl Lookout {
    /// Catches up with the state and runs a round, unless nothing happened and nothing is due that
    /// could come to anything else than the last one. Answers what is to be enacted. Takes a core
    /// for a while: not for a thread that serves sockets.
    pub fn round(&self, state: &SharedState, now: Time) -> Option<Command> {
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        let seen = &mut *seen;
        seen.catch_up(state, now);
        let is_due = seen.round.next_look.is_some_and(|due| due <= now);
        if seen.number > 0 && !seen.is_stale && !is_due {
            return None;
        }
        seen.keeper.snapshot_mut().settle(now);
        let mut round = engine::schedule(seen.keeper.snapshot(), now);
        round.decisions = judged(seen.keeper.snapshot(), now, round.decisions);
        let command = enactment(&round.decisions);
        seen.keeper.snapshot_mut().set_promises(round.promises.clone());
        (seen.round, seen.at, seen.is_stale) = (round, now, false);
        seen.number += 1;
        command
    }

    /// What the last round decided came to nothing: the next one decides again.
    pub fn look_again(&self) {
        self.seen.write().unwrap_or_else(PoisonError::into_inner).is_stale = true;
    }

    /// How long nothing is due, if nothing happens; `None`: for ever.
    pub fn idle_for(&self, now: Time) -> Option<Span> {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
        seen.round.next_look.map(|due| due.since(now))
    }

    /// Looks at the cluster as it is now.
    pub fn fresh<T>(&self, state: &SharedState, now: Time, look: impl FnOnce(&Snapshot) -> T) -> T {
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        seen.catch_up(state, now);
        seen.keeper.snapshot_mut().settle(now);
        look(seen.keeper.snapshot())
    }

    /// Looks at the cluster as the last round saw it, and at what that said, and when.
    pub fn last<T>(&self, look: impl FnOnce(&Snapshot, &Round, Time) -> T) -> T {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
        look(seen.keeper.snapshot(), &seen.round, seen.at)
    }

    /// Why jobs wait, by the last round. Put in words once a round at most, and only if somebody
    /// asks.
    pub fn waits(&self) -> Arc<Waits> {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.0 != seen.number {
            let said = view::waits(seen.keeper.snapshot(), &seen.round, seen.at);
            *waits = (seen.number, Arc::new(said));
        }
        waits.1.clone()
    }
}

impl Seen {
    fn catch_up(&mut self, state: &SharedState, now: Time) {
        self.is_stale |= state.tell(&mut self.keeper);
        if self.usage_at + USAGE_EVERY <= now {
            self.keeper.set_usage(&state.read(), now);
            self.usage_at = now;
        }
    }
}

/// The decisions without what the judge does not pass: a defect that costs the jobs it touches, and
/// those that were to start with them, and nobody else.
fn judged(snapshot: &Snapshot, now: Time, mut decisions: Vec<Decision>) -> Vec<Decision> {
    let violations = engine::check::check_decisions(snapshot, now, &decisions);
    for violation in &violations {
        tracing::error!("the judge found a defect of the scheduler, please report it: {violation}");
    }
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
        Decision::Preempt { key, by, .. } => !is_guilty(*key) && !is_guilty(*by),
        _ => true,
    });
    decisions
}
