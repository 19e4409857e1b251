//! The scheduler's view of the cluster and the wait reasons of its last round, shared by the
//! scheduler and by requests: [`lead::Rounds`] under locks. A round holds the view for reading
//! while it decides, so that readers do not wait for it.
//!
//! A full rebuild of the view, as at the start of each term, takes a second with many waiting jobs.
//! It works on a cheap copy of the state: entries are applied meanwhile.
//!
//! Submissions are checked against an outline, which has no jobs. It is locked by itself, so that a
//! submission does not wait while the changes of a hundred thousand jobs are applied to the view.

use crate::shared_state::{SettingsVersion, SharedState};
use common::sync::{Mutex, RwLock, RwLockWriteGuard};
use common::time::{Span, Time};
use engine::Snapshot;
use lead::Rounds;
use query::view::Waits;
use state::Command;
use state::snapshot::{SnapshotChanges, SnapshotKeeper};
use std::sync::Arc;
use std::time::Duration;

/// At most this many changed jobs are applied to the view while readers wait.
const APPLIED_AT_ONCE: usize = 1000;
/// How long readers have the view between two such parts.
const BETWEEN_PARTS: Duration = Duration::from_micros(200);

/// A term of leadership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Term(u64);

/// The view and the last round's wait reasons.
#[derive(Default)]
pub struct SchedulerCache {
    /// Held while catching up with the state, and by a round from start to end, so that a round
    /// decides on what it caught up with. Always locked before `seen`.
    rounds_lock: Mutex<()>,
    seen: RwLock<Seen>,
    /// Written by the holder of `rounds_lock`.
    outline: RwLock<Outline>,
    /// With the number of the round they come from.
    waits: Mutex<(u64, Arc<Waits>)>,
}

#[derive(Default)]
struct Seen {
    term: Term,
    rounds: Rounds,
}

/// Nodes and policy without jobs.
#[derive(Clone, Default)]
struct Outline {
    keeper: Arc<SnapshotKeeper>,
    /// `None` before the first term.
    settings: Option<SettingsVersion>,
}

impl SchedulerCache {
    /// Starts a term: drops everything seen before. Blocks while a round runs, so it is not for a
    /// thread that serves sockets.
    pub fn begin_term(&self, state: &SharedState, now: Time) -> Term {
        let _rounds = self.rounds_lock.lock();
        let (outline, settings) = state.take_events(|state, _| SnapshotKeeper::without_jobs(state));
        self.replace_outline(outline, settings, now);
        let mut seen = self.seen.write();
        seen.rounds.restart();
        seen.term = Term(seen.term.0 + 1);
        seen.term
    }

    /// Catches up with the state and runs a round. Returns the command to propose; `None` if the
    /// term has ended, or if nothing happened or is due that could change the last round's result.
    /// Uses a core for a while, so it is not for a thread that serves sockets.
    pub fn round(&self, term: Term, state: &SharedState, now: Time) -> Option<Command> {
        let _rounds = self.rounds_lock.lock();
        // A late caller's decisions would not be proposed.
        if self.seen.read().term != term {
            return None;
        }
        let mut seen = self.catch_up(state, now);
        if !seen.rounds.begin_if_due(now) {
            return None;
        }
        drop(seen);
        let result = self.seen.read().rounds.decide(now);
        let outcome = self.seen.write().rounds.finish(result, now);
        for violation in &outcome.violations {
            tracing::error!(
                "the judge found a defect of the scheduler, please report it: {violation}"
            );
        }
        outcome.command
    }

    /// Applies pending events, so that the next round has fewer to apply. Does nothing after the
    /// term.
    pub fn apply_pending_events(&self, term: Term, state: &SharedState, now: Time) {
        let _rounds = self.rounds_lock.lock();
        if self.seen.read().term == term {
            drop(self.catch_up(state, now));
        }
    }

    /// Makes the next round decide again, because the last one's command failed.
    pub fn force_round(&self) {
        self.seen.write().rounds.force_round();
    }

    /// The time until something is due without new events; `None` if nothing is.
    pub fn idle_for(&self, now: Time) -> Option<Span> {
        self.seen.read().rounds.idle_for(now)
    }

    /// Reads the nodes as of the last round or later, without any jobs. Recent changes may be
    /// missing. Waits neither for a round nor for changes of jobs; `None` while the settings in
    /// force have not been applied.
    pub fn peek<T>(&self, state: &SharedState, look: impl FnOnce(&Snapshot) -> T) -> Option<T> {
        let Outline { keeper, settings } = self.outline.read().clone();
        let is_in_force = settings == Some(state.settings_version());
        is_in_force.then(|| look(keeper.snapshot()))
    }

    /// Reads an up-to-date view. Waits for a running round.
    pub fn with_current<T>(
        &self,
        state: &SharedState,
        now: Time,
        look: impl FnOnce(&Snapshot) -> T,
    ) -> T {
        let _rounds = self.rounds_lock.lock();
        let mut seen = self.catch_up(state, now);
        look(seen.rounds.prepared_snapshot(now))
    }

    /// Wait reasons of the last round. Formatted at most once for each round, on request.
    pub fn waits(&self) -> Arc<Waits> {
        let seen = self.seen.read();
        let mut waits = self.waits.lock();
        if waits.0 != seen.rounds.number() {
            *waits = (seen.rounds.number(), Arc::new(seen.rounds.wait_reasons()));
        }
        waits.1.clone()
    }

    /// Applies pending events. The caller must hold `rounds_lock`.
    fn catch_up(&self, state: &SharedState, now: Time) -> RwLockWriteGuard<'_, Seen> {
        if !state.knows_all_events() || !self.seen.read().rounds.is_begun() {
            let (copy, settings) = state.take_events(|state, _| state.clone());
            self.replace_outline(SnapshotKeeper::without_jobs(&copy), settings, now);
            let mut begun = Rounds::default();
            begun.catch_up(&copy, None, now);
            begun.prepared_snapshot(now);
            let before = self.seen.write().rounds.adopt(begun);
            drop(before);
        }
        // Only the holder of `rounds_lock` writes. Readers continue while this reads the state, and
        // entries are applied while it stores what it read. The state is locked second, as always.
        let seen = self.seen.read();
        let ((changes, outline), settings) = state.take_events(|state, events| {
            let outline = events.is_none().then(|| SnapshotKeeper::without_jobs(state));
            (seen.rounds.read_changes(state, events, now), outline)
        });
        drop(seen);
        match outline {
            Some(outline) => self.replace_outline(outline, settings, now),
            None => self.update_outline(changes.outline(), settings, now),
        }
        let mut seen = self.seen.write();
        for (place, part) in changes.in_parts(APPLIED_AT_ONCE).enumerate() {
            if place > 0 {
                drop(seen);
                // A reader that waits is woken now; without a pause it would find the lock taken.
                std::thread::sleep(BETWEEN_PARTS);
                seen = self.seen.write();
            }
            seen.rounds.apply_changes(part, now);
        }
        seen
    }

    /// The caller must hold `rounds_lock`.
    fn replace_outline(&self, mut keeper: SnapshotKeeper, settings: SettingsVersion, now: Time) {
        keeper.snapshot_mut().prepare_for_round(now);
        *self.outline.write() = Outline { keeper: Arc::new(keeper), settings: Some(settings) };
    }

    /// The caller must hold `rounds_lock`.
    fn update_outline(&self, news: Option<SnapshotChanges>, settings: SettingsVersion, now: Time) {
        let mut outline = self.outline.write();
        outline.settings = Some(settings);
        if let Some(news) = news {
            // It is copied if a request reads it.
            let keeper = Arc::make_mut(&mut outline.keeper);
            keeper.apply_changes(news);
            keeper.snapshot_mut().prepare_for_round(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SteadyClock, wall_clock};
    use crate::raft::Machine as _;
    use crate::shared_state::PENDING_EVENTS_MAX;
    use crate::state_machine::{Outlets, StateMachine};
    use common::id::{JobId, LogIndex, NodeName};
    use state::Event;
    use tokio::sync::{mpsc, watch};

    fn empty() -> (StateMachine, SharedState) {
        let outlets = Outlets {
            news: mpsc::unbounded_channel().0,
            applied: watch::channel(LogIndex(0)).0,
            leading: watch::channel(true).0,
            history: crate::history::feed_channel().0,
            mail: crate::mail::MailQueue::default(),
        };
        let clock = Arc::new(SteadyClock::new(wall_clock));
        StateMachine::new(clock, outlets)
    }

    fn node_registers(name: &str) -> Command {
        Command::RegisterNode {
            name: NodeName::new(name).unwrap(),
            identity: name.to_owned(),
            address: name.to_owned(),
            version: "1".to_owned(),
            inventory: Box::new(testkit::inventory(1, 1, 0)),
            steps: Vec::new(),
        }
    }

    #[test]
    fn a_peek_waits_for_no_round_but_for_settings_to_be_applied() {
        let (mut machine, state) = empty();
        let cache = SchedulerCache::default();
        assert!(cache.peek(&state, |_| ()).is_none(), "no settings yet");
        let term = cache.begin_term(&state, Time(1));
        let _ = cache.round(term, &state, Time(1));
        {
            // As while the changes of many jobs are applied.
            let (_rounds, _seen) = (cache.rounds_lock.lock(), cache.seen.write());
            assert!(cache.peek(&state, |_| ()).is_some());
        }
        let entry = machine.pack(vec![Command::Configure(testkit::settings())]);
        machine.apply(LogIndex(1), &entry).unwrap();
        assert!(cache.peek(&state, |_| ()).is_none(), "the settings are new");
        let _ = cache.round(term, &state, Time(1));
        assert!(cache.peek(&state, |_| ()).is_some());
    }

    #[test]
    fn a_peek_waits_for_no_rebuild_after_more_events_than_are_kept() {
        let (mut machine, state) = empty();
        let cache = SchedulerCache::default();
        let term = cache.begin_term(&state, Time(1));
        let _ = cache.round(term, &state, Time(1));
        let many = vec![Event::JobForgotten { job: JobId(1) }; PENDING_EVENTS_MAX + 1];
        state.add_events(&[many]);
        assert!(!state.knows_all_events());
        assert!(cache.peek(&state, |_| ()).is_some());
        let entry = machine.pack(vec![Command::Configure(testkit::settings())]);
        machine.apply(LogIndex(1), &entry).unwrap();
        assert!(cache.peek(&state, |_| ()).is_none(), "the settings are new");
        let _ = cache.round(term, &state, Time(1));
        assert!(cache.peek(&state, |_| ()).is_some());
    }

    #[test]
    fn before_a_terms_first_round_a_peek_finds_the_nodes_and_waits_for_nothing() {
        let (mut machine, state) = empty();
        let at = Time(1);
        let command = node_registers("n1");
        let entry = machine.pack(vec![command]);
        machine.apply(LogIndex(1), &entry).unwrap();
        let cache = SchedulerCache::default();
        let term = cache.begin_term(&state, at);
        let nodes = |snapshot: &Snapshot| snapshot.nodes().len();
        {
            // As while the first rebuild runs.
            let _rounds = cache.rounds_lock.lock();
            assert_eq!(cache.peek(&state, nodes), Some(1));
            assert!(!cache.seen.read().rounds.is_begun());
        }
        let _ = cache.round(term, &state, at);
        let entry = machine.pack(vec![node_registers("n2")]);
        machine.apply(LogIndex(2), &entry).unwrap();
        assert_eq!(cache.peek(&state, nodes), Some(1), "n2 is added by the next round");
        let _ = cache.round(term, &state, at);
        assert_eq!(cache.peek(&state, nodes), Some(2));
    }

    #[test]
    fn changes_before_and_after_a_full_rebuild_are_applied() {
        let (mut machine, state) = empty();
        let cache = SchedulerCache::default();
        let term = cache.begin_term(&state, Time(1));
        let _ = cache.round(term, &state, Time(1));
        let register = |machine: &mut StateMachine, index, name| {
            let entry = machine.pack(vec![node_registers(name)]);
            machine.apply(LogIndex(index), &entry).unwrap();
        };
        register(&mut machine, 1, "n1");
        // No events are known of what led to a snapshot.
        let bytes = StateMachine::encode_snapshot(&machine.freeze()).unwrap();
        machine.restore(LogIndex(1), &bytes).unwrap();
        assert!(cache.peek(&state, |_| ()).is_none(), "the settings may be others");
        register(&mut machine, 2, "n2");
        let _ = cache.round(term, &state, Time(1));
        register(&mut machine, 3, "n3");
        assert_eq!(cache.with_current(&state, Time(1), |snapshot| snapshot.nodes().len()), 3);
    }

    #[test]
    fn a_round_of_an_ended_term_decides_nothing() {
        let (_machine, state) = empty();
        let cache = SchedulerCache::default();
        let over = cache.begin_term(&state, Time(1));
        let term = cache.begin_term(&state, Time(1));
        let before = cache.seen.read().rounds.number();
        assert!(cache.round(over, &state, Time(1)).is_none());
        assert_eq!(cache.seen.read().rounds.number(), before, "it held no round");
        assert!(cache.round(term, &state, Time(1)).is_none(), "there is no job");
        assert_eq!(cache.seen.read().rounds.number(), before + 1);
    }
}
