//! Random histories: users, rounds (the engine's and nonsense), nodes with reports that are out of
//! order, repeated, late or false, lost and replaced nodes, and controllers that crash between
//! commands. The judges check after every command, and every history is replayed.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod moves;
mod world;

use moves::moves;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::FileFailurePersistence;
use state::persist::{from_bytes, to_bytes};
use state::{Command, Stamped, State};
use world::World;

const HISTORIES: u32 = 2000;

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
        // The derived indexes equal those of a state that was read back.
        prop_assert_eq!(&from_bytes(&bytes).unwrap(), &world.state);

        // The same log gives the same bytes, from the start and from a snapshot on the way.
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
    // The property above would be worthless if the histories never reached most events.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2400 {
        let moves = moves().new_tree(&mut runner).unwrap().current();
        let mut world = World::new();
        world.seen = Some(std::mem::take(&mut seen));
        for step in &moves {
            world.play(step).unwrap();
        }
        seen = world.seen.unwrap_or_default();
    }
    let words = [
        "JobSubmitted",
        "repeated: true",
        "JobHeld",
        "JobReleased",
        "JobStarted",
        "JobReady",
        "JobRunning",
        "JobSuspended",
        "JobResumed",
        "JobSaved",
        "NothingToSave",
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
        "JobPreempts",
        "by: Uid(0), preempted: Some",
        "why: HeadTimeout",
        "requeue: true, nodes",
        "preempted_by: Some",
        "outcome: Preempted",
        "outcome: DeadlineMissed",
        "ReservationCreated",
        "ReservationChanged",
        "ReservationDeleted",
        "ReservationExpired",
        "ReservationOverlaps",
        "ReservationExists",
        "ReservationClosed",
        "UnknownReservation",
        "OperatorsOnly",
        "QueueClosed",
        "WholeGpusOnly",
        "UnknownAccount",
        "DeadlineTooEarly",
        "OtherTasks",
        "OtherPart",
        "GroupBroken",
        "TwiceInGroup",
        "NotWhole",
        "PartOfSet",
        "an array cannot have components",
        "NothingToYield",
        "NoJobWaits",
        "DeadlineOver",
        "DependencyMoved",
        "Awaits",
        "MayGrow",
        "Given {",
        "Ready { nodes",
        "Grew {",
        "NotJoined {",
        "DoesNotGrow",
        "HadBefore",
        "TooMuchText",
        "TextsGone",
        "Invited",
        "NodeEnrolled",
        "NodeRevoked",
        "InvitationUsed",
        "ActOnTasks Cancel",
        "ActOnTasks Hold",
        "ActOnTasks Release",
        "ActOnTasks Requeue",
        "ActOnTasks Suspend",
        "ActOnTasks Resume",
    ];
    let saw = |word: &str| seen.iter().any(|event: &String| event.contains(word));
    let never: Vec<&str> = words.into_iter().filter(|word| !saw(word)).collect();
    assert!(never.is_empty(), "never saw {never:?}");
}
