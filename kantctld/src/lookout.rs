//! What the leader's scheduler sees and what it last said, shared between the scheduler and whoever
//! asks. Never decides anything: [`lead::Rounds`] under a lock, which a round holds for reading
//! while it thinks, so that nobody who only looks waits for it.
//!
//! A look at everything, as each term begins with, takes a second where many jobs wait. It is at a
//! copy of the state, which costs little: entries are applied meanwhile, and submits are judged by
//! an outline without jobs.

use crate::machine::SharedState;
use common::time::{Span, Time};
use engine::Snapshot;
use lead::Rounds;
use state::Command;
use state::snapshot::Keeper;
use state::view::Waits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// So many jobs that hold nothing are taken up while nobody can look.
const TAKEN_UP_AT_ONCE: usize = 1000;
/// Others look for so long between two parts of what is taken up.
const BETWEEN_PARTS: Duration = Duration::from_micros(200);

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
    /// Nodes and policy without jobs, until a term's first look at everything is done.
    outline: Option<Snapshot>,
}

impl Lookout {
    /// This controller leads from now on: what it saw and said before is void. Waits for a round
    /// that runs: not for a thread that serves sockets.
    pub fn restart(&self, state: &SharedState, now: Time) -> Term {
        let _turn = self.turn();
        // No copy: nobody is served until this is done, and there are fewer nodes than jobs.
        let mut outline = state.tell(|state, _| Keeper::outline(state)).into_snapshot();
        outline.settle(now);
        let mut seen = self.write();
        seen.rounds.restart();
        seen.outline = Some(outline);
        seen.term = Term(seen.term.0 + 1);
        seen.term
    }

    /// Catches up with the state and runs a round, unless nothing happened and nothing is due that
    /// could come to anything else than the last one, or the term is over. Answers what is to be
    /// enacted. Takes a core for a while: not for a thread that serves sockets.
    pub fn round(&self, term: Term, state: &SharedState, now: Time) -> Option<Command> {
        let _turn = self.turn();
        // What a straggler decides would be proposed by nobody, and decided by nobody else.
        if self.read().term != term {
            return None;
        }
        let mut seen = self.catch_up(state, now);
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

    /// Takes up what happened, so that the next round has less to take up; not in a term that is
    /// over.
    pub fn follow(&self, term: Term, state: &SharedState, now: Time) {
        let _turn = self.turn();
        if self.read().term == term {
            drop(self.catch_up(state, now));
        }
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
    /// since may be missing and, before a term's first round, all jobs. Waits for no round; `None`:
    /// the settings in force were not taken up yet.
    pub fn glance<T>(&self, state: &SharedState, look: impl FnOnce(&Snapshot) -> T) -> Option<T> {
        let seen = self.read();
        let glanced = || look(seen.outline.as_ref().unwrap_or_else(|| seen.rounds.seen()));
        state.knows_settings().then(glanced)
    }

    /// Looks at the cluster as it is now. Waits for a round that runs.
    pub fn fresh<T>(&self, state: &SharedState, now: Time, look: impl FnOnce(&Snapshot) -> T) -> T {
        let _turn = self.turn();
        let mut seen = self.catch_up(state, now);
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

    /// Takes up what happened. Only for whoever has the turn.
    fn catch_up(&self, state: &SharedState, now: Time) -> RwLockWriteGuard<'_, Seen> {
        if !state.knows_all() || !self.read().rounds.is_begun() {
            let copy = state.tell(|state, _| state.clone());
            let mut begun = Rounds::default();
            begun.catch_up(&copy, None, now);
            begun.fresh(now);
            let mut seen = self.write();
            seen.rounds.adopt(begun);
            seen.outline = None;
        }
        // Whoever has the turn alone writes: others look on while this one reads the state, and
        // entries are applied while it keeps what it read. The state is locked second, as always.
        let seen = self.read();
        let told = state.tell_but_settings(|state, events| seen.rounds.told(state, events, now));
        drop(seen);
        let Some(told) = told else {
            // Nobody glances at the old ones from the moment that they are told.
            let mut seen = self.write();
            state.tell(|state, events| seen.rounds.catch_up(state, events, now));
            return seen;
        };
        let mut seen = self.write();
        for (place, part) in told.in_parts(TAKEN_UP_AT_ONCE).enumerate() {
            if place > 0 {
                drop(seen);
                // Who waits to look is woken, and would find it locked again.
                std::thread::sleep(BETWEEN_PARTS);
                seen = self.write();
            }
            seen.rounds.take_up(part, now);
        }
        seen
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SteadyClock, wall_clock};
    use crate::machine::{Outlets, StateMachine};
    use crate::raft::Machine as _;
    use common::cpuset::CpuSet;
    use common::gpu::GpuMatrix;
    use common::id::{LogIndex, NodeName};
    use common::node::{Inventory, Numa};
    use common::unit::Bytes;
    use tokio::sync::{mpsc, watch};

    fn empty() -> (StateMachine, SharedState) {
        let outlets = Outlets {
            events: mpsc::unbounded_channel().0,
            applied: watch::channel(LogIndex(0)).0,
            leading: watch::channel(true).0,
            history: crate::history::feed().0,
            mail: crate::mail::Postbox::default(),
        };
        let clock = Arc::new(SteadyClock::new(wall_clock));
        StateMachine::new(clock, outlets)
    }

    fn node_registers(name: &str) -> Command {
        let (cpus, memory) = (CpuSet::first(1), Bytes::from_mib(1024));
        let inventory = Inventory {
            sockets: 1,
            threads_per_core: 1,
            cpus: cpus.clone(),
            cores: vec![cpus.clone()],
            numa: vec![Numa { id: 0, cpus, memory }],
            memory,
            gpus: Vec::new(),
            gpu_matrix: GpuMatrix::default(),
            boot_id: "boot-1".to_owned(),
            gpu_driver: None,
            nics: Vec::new(),
            features: Vec::new(),
            limits_missing: Vec::new(),
        };
        Command::RegisterNode {
            name: NodeName::new(name).unwrap(),
            identity: name.to_owned(),
            address: name.to_owned(),
            version: "1".to_owned(),
            inventory: Box::new(inventory),
            steps: Vec::new(),
        }
    }

    #[test]
    fn a_glance_waits_for_no_round_but_for_settings_to_be_taken_up() {
        let (_machine, state) = empty();
        let lookout = Lookout::default();
        assert!(lookout.glance(&state, |_| ()).is_none(), "nothing was told yet");
        let term = lookout.restart(&state, Time(1));
        let _ = lookout.round(term, &state, Time(1));
        // As while a round thinks.
        let (_turn, _seen) = (lookout.turn(), lookout.read());
        assert!(lookout.glance(&state, |_| ()).is_some());
    }

    #[test]
    fn before_a_terms_first_round_a_glance_finds_the_nodes_and_waits_for_nothing() {
        let (mut machine, state) = empty();
        let at = Time(1);
        let command = node_registers("n1");
        let entry = machine.pack(vec![command]);
        machine.apply(LogIndex(1), &entry).unwrap();
        let lookout = Lookout::default();
        let term = lookout.restart(&state, at);
        let nodes = |snapshot: &Snapshot| snapshot.nodes().len();
        {
            // As while the first look at everything goes on.
            let _turn = lookout.turn();
            assert_eq!(lookout.glance(&state, nodes), Some(1));
            assert!(!lookout.read().rounds.is_begun());
        }
        let _ = lookout.round(term, &state, at);
        assert!(lookout.read().outline.is_none(), "what was seen takes its place");
        assert_eq!(lookout.glance(&state, nodes), Some(1));
    }

    #[test]
    fn what_happens_before_and_after_a_look_at_everything_is_taken_up() {
        let (mut machine, state) = empty();
        let lookout = Lookout::default();
        let term = lookout.restart(&state, Time(1));
        let _ = lookout.round(term, &state, Time(1));
        let register = |machine: &mut StateMachine, index, name| {
            let entry = machine.pack(vec![node_registers(name)]);
            machine.apply(LogIndex(index), &entry).unwrap();
        };
        register(&mut machine, 1, "n1");
        // What led to a snapshot is told by nobody.
        let bytes = StateMachine::write_down(&machine.freeze()).unwrap();
        machine.restore(LogIndex(1), &bytes).unwrap();
        register(&mut machine, 2, "n2");
        let _ = lookout.round(term, &state, Time(1));
        register(&mut machine, 3, "n3");
        assert_eq!(lookout.fresh(&state, Time(1), |snapshot| snapshot.nodes().len()), 3);
    }

    #[test]
    fn a_round_of_a_term_that_is_over_decides_nothing() {
        let (_machine, state) = empty();
        let lookout = Lookout::default();
        let over = lookout.restart(&state, Time(1));
        let term = lookout.restart(&state, Time(1));
        let before = lookout.read().rounds.number();
        assert!(lookout.round(over, &state, Time(1)).is_none());
        assert_eq!(lookout.read().rounds.number(), before, "it held no round");
        assert!(lookout.round(term, &state, Time(1)).is_none(), "there is no job");
        assert_eq!(lookout.read().rounds.number(), before + 1);
    }
}
