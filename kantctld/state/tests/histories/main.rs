//! Random histories: users, rounds (the engine's and nonsense), nodes that report in any order,
//! twice, late or lies, losses, replaced machines, and controllers that crash between commands.
//! After every command the judges look; after every history it is replayed.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::FileFailurePersistence;
use state::persist::{from_bytes, to_bytes};
use state::{Command, Stamped, State};
use world::{Move, World};

/// Histories tried. Each has up to [`MOVES_MAX`] moves.
const HISTORIES: u32 = 2000;
const MOVES_MAX: usize = 60;

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let some = any::<u8>;
    let one = prop_oneof![
        6 => (some(), some()).prop_map(|(shape, user)| Move::Submit(shape, user)),
        1 => some().prop_map(Move::SubmitAgain),
        2 => (some(), some()).prop_map(|(job, user)| Move::Cancel(job, user)),
        1 => (some(), some()).prop_map(|(job, user)| Move::Hold(job, user)),
        1 => (some(), some()).prop_map(|(job, user)| Move::Release(job, user)),
        2 => (some(), some()).prop_map(|(job, user)| Move::Requeue(job, user)),
        6 => Just(Move::Round),
        2 => Just(Move::Decide),
        2 => Just(Move::EnactDecided),
        4 => (some(), some(), some(), some()).prop_map(|(a, b, c, d)| Move::Nonsense(a, b, c, d)),
        14 => (some(), some()).prop_map(|(share, end)| Move::Progress(share, end)),
        4 => (some(), some(), some()).prop_map(|(n, id, phase)| Move::Report(n, id, phase)),
        3 => (some(), some()).prop_map(|(node, how)| Move::Register(node, how)),
        2 => some().prop_map(Move::Silent),
        1 => some().prop_map(Move::Lost),
        1 => Just(Move::Overdue),
        1 => some().prop_map(Move::Drain),
        1 => some().prop_map(Move::Resume),
        1 => Just(Move::Forget),
        1 => some().prop_map(Move::Configure),
        2 => (0..4000_u32).prop_map(Move::Wait),
        2 => Just(Move::Crash),
    ];
    vec(one, 1..MOVES_MAX)
}

fn replay(mut state: State, log: &[Stamped<Command>]) -> State {
    for stamped in log {
        state::apply(&mut state, stamped);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: HISTORIES,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_history_breaks_the_state(moves in moves(), cut in any::<prop::sample::Index>()) {
        let mut world = World::new();
        for step in &moves {
            world.play(step)?;
        }
        let bytes = to_bytes(&world.state).unwrap();

        // The same log gives the same bytes: from the start, and from a snapshot on the way.
        let (before, after) = world.log.split_at(cut.index(world.log.len()));
        let half_way = replay(State::default(), before);
        let whole = replay(half_way.clone(), after);
        prop_assert_eq!(&to_bytes(&whole).unwrap(), &bytes);
        let restored = from_bytes(&to_bytes(&half_way).unwrap()).unwrap();
        let from_snapshot = replay(restored, after);
        prop_assert_eq!(&to_bytes(&from_snapshot).unwrap(), &bytes);
    }
}

#[test]
fn histories_reach_every_corner() {
    // A property over histories that never get anywhere would hold for nothing.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..500 {
        let moves = moves().new_tree(&mut runner).unwrap().current();
        let mut world = World::new();
        world.seen = Some(std::mem::take(&mut seen));
        for step in &moves {
            world.play(step).unwrap();
        }
        seen = world.seen.unwrap_or_default();
    }
    for word in [
        "JobSubmitted",
        "repeated: true",
        "JobHeld",
        "JobReleased",
        "JobStarted",
        "JobReady",
        "JobRunning",
        "JobEnded",
        "JobEndChanged",
        "JobRequeued",
        "JobDelayed",
        "NodeFault",
        "JobForgotten",
        "NodeSilent",
        "NodeLost",
        "NodeDrained",
        "NodeResumed",
        "RoundEntryRefused",
        "Configured",
        "outcome: Completed",
        "outcome: Failed",
        "outcome: Cancelled",
        "outcome: TimedOut",
        "outcome: OutOfMemory",
        "outcome: NodeLost",
        "outcome: LaunchFailed",
        "Taken",
        "Held",
        "OtherAttempt",
        "NotThere",
        "NotShared",
        "NodeUnusable",
        "NodeNameTaken",
        "NotYours",
        "AlreadyDone",
        "WrongPhase",
    ] {
        assert!(seen.iter().any(|event: &String| event.contains(word)), "never saw {word}");
    }
}
