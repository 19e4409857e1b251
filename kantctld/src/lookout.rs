//! What the leader's scheduler sees and what it last said, shared between the scheduler and whoever
//! asks. Never decides anything: [`lead::Rounds`] under a lock, which a round holds for reading
//! while it thinks, so that nobody who only looks waits for it.

use crate::machine::SharedState;
use common::time::{Span, Time};
use engine::Snapshot;
use lead::Rounds;
use state::Command;
use state::view::Waits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Tells terms of leading apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Term(u64);

/// What is seen, and what was said of it.
#[derive(Default)]
pub struct Lookout {
    /// Held by whoever catches up, and by a round from its beginning to its end: what it thinks is
    /// of what was caught up with. Always locked before `seen`.
    turn: Mutex<()>,
    seen: RwLock<Seen>,
    /// By the number of the round they are of.
    waits: Mutex<(u64, Arc<Waits>)>,
}

#[derive(Default)]
struct Seen {
    term: Term,
    rounds: Rounds,
}

impl Lookout {
    /// This controller leads from now on: what it saw and said before is void. Waits for a round
    /// that runs: not for a thread that serves sockets.
    pub fn restart(&self) -> Term {
        let _turn = self.turn();
        let mut seen = self.write();
        seen.rounds.restart();
        seen.term = Term(seen.term.0 + 1);
        seen.term
    }

    /// Catches up with the state and runs a round, unless nothing happened and nothing is due that
    /// could come to anything else than the last one, or the term is over. Answers what is to be
    /// enacted. Takes a core for a while: not for a thread that serves sockets.
    pub fn round(&self, term: Term, state: &SharedState, now: Time) -> Option<Command> {
        let _turn = self.turn();
        let mut seen = self.write();
        // What a straggler decides would be proposed by nobody, and decided by nobody else.
        if seen.term != term {
            return None;
        }
        catch_up(&mut seen.rounds, state, now);
        if !seen.rounds.prepare(now) {
            return None;
        }
        drop(seen);
        let thought = self.read().rounds.think(now);
        let outcome = self.write().rounds.keep(thought, now);
        for violation in &outcome.violations {
            tracing::error!(
                "the judge found a defect of the scheduler, please report it: {violation}"
            );
        }
        outcome.command
    }

    /// What the last round decided came to nothing: the next one decides again.
    pub fn look_again(&self) {
        self.write().rounds.look_again();
    }

    /// How long nothing is due, if nothing happens; `None`: for ever.
    pub fn idle_for(&self, now: Time) -> Option<Span> {
        self.read().rounds.idle_for(now)
    }

    /// Looks at the cluster as it was at the last round, or is: what happened to jobs and nodes
    /// since may be missing. Waits for no round; `None`: the settings in force were not taken up
    /// yet.
    pub fn glance<T>(&self, state: &SharedState, look: impl FnOnce(&Snapshot) -> T) -> Option<T> {
        let seen = self.read();
        state.knows_settings().then(|| look(seen.rounds.seen()))
    }

    /// Looks at the cluster as it is now. Waits for a round that runs.
    pub fn fresh<T>(&self, state: &SharedState, now: Time, look: impl FnOnce(&Snapshot) -> T) -> T {
        let _turn = self.turn();
        let mut seen = self.write();
        catch_up(&mut seen.rounds, state, now);
        look(seen.rounds.fresh(now))
    }

    /// Why jobs wait, by the last round. Put in words once a round at most, and only if somebody
    /// asks.
    pub fn waits(&self) -> Arc<Waits> {
        let seen = self.read();
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.0 != seen.rounds.number() {
            *waits = (seen.rounds.number(), Arc::new(seen.rounds.waits()));
        }
        waits.1.clone()
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, Seen> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Seen> {
        self.seen.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn catch_up(rounds: &mut Rounds, state: &SharedState, now: Time) {
    state.tell(|state, events| rounds.catch_up(state, events, now));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SteadyClock, wall_clock};
    use crate::machine::{Outlets, StateMachine};
    use common::id::LogIndex;
    use tokio::sync::{mpsc, watch};

    fn empty() -> (StateMachine, SharedState) {
        let outlets = Outlets {
            events: mpsc::unbounded_channel().0,
            applied: watch::channel(LogIndex(0)).0,
            leading: watch::channel(true).0,
        };
        let clock = Arc::new(SteadyClock::new(wall_clock));
        StateMachine::new(clock, outlets)
    }

    #[test]
    fn a_glance_waits_for_no_round_but_for_settings_to_be_taken_up() {
        let (_machine, state) = empty();
        let lookout = Lookout::default();
        let term = lookout.restart();
        assert!(lookout.glance(&state, |_| ()).is_none(), "nothing was told yet");
        let _ = lookout.round(term, &state, Time(1));
        // As while a round thinks.
        let (_turn, _seen) = (lookout.turn(), lookout.read());
        assert!(lookout.glance(&state, |_| ()).is_some());
    }

    #[test]
    fn a_round_of_a_term_that_is_over_decides_nothing() {
        let (_machine, state) = empty();
        let lookout = Lookout::default();
        let over = lookout.restart();
        let term = lookout.restart();
        let before = lookout.read().rounds.number();
        assert!(lookout.round(over, &state, Time(1)).is_none());
        assert_eq!(lookout.read().rounds.number(), before, "it held no round");
        assert!(lookout.round(term, &state, Time(1)).is_none(), "there is no job");
        assert_eq!(lookout.read().rounds.number(), before + 1);
    }
}
