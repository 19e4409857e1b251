//! The serialized state against files in `tests/golden/`: `current` is what this release writes,
//! `previous` what it must still read. UPDATE_GOLDEN rewrites `current` only; golden/README.md says
//! when `previous` changes.

use crate::house::{House, USER, end, exited, name, running, settings, share};
use common::id::JobKey;
use common::job::{Ask, EndCause, Phase};
use state::persist::{from_bytes, to_bytes};
use state::{Command, LEVELS, State, Target};
use std::path::{Path, PathBuf};

fn golden(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set).join("state")
}

/// A state with jobs in every phase, an array, a silent node, and a drained node.
fn lived() -> State {
    let mut house = House::new();
    let mut settings = settings();
    (settings.fair_sharing, settings.factors.past_use_percent) = (true, 50);
    house.apply(Command::Configure(settings));
    let ended = house.job();
    let id = house.start(ended, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", id, running());
    house.wait(5);
    house.report("g1", id, end(EndCause::Exited, 3));
    let runs = house.job();
    let id = house.start(runs, vec![share("g1", 2, 2, &[1])]);
    house.wait(5);
    house.report("g1", id, running());
    let again = house.job();
    let id = house.start(again, vec![share("g2", 0, 2, &[])]);
    house.report("g2", id, running());
    let requeue = house.requeue(again);
    house.apply(requeue);
    house.report("g2", id, exited(0));
    let starts = house.job();
    house.start(starts, vec![share("g2", 0, 2, &[])]);
    let held = house.job();
    house.apply(Command::HoldJob { actor: USER, target: Target { key: held } });
    house.submit(Ask { array: "0-9:3%2".parse().ok(), ..Ask::default() });
    house.silence("g2");
    house.state
}

/// Checks that a state read from any format has the expected contents.
fn check_is_lived(state: &State) {
    let phase = |id| state.element(JobKey::single(common::id::JobId(id))).unwrap().1.phase;
    let phases = [1, 2, 3, 4, 5].map(phase);
    let expected = [Phase::Done, Phase::Running, Phase::Pending, Phase::Starting, Phase::Pending];
    assert_eq!(phases, expected);
    assert!(
        state.ledger().holdings_on(&name("g1")).is_some()
            && state.ledger().holdings_on(&name("g2")).is_some()
    );
    assert_eq!(state::invariant::check(state), Vec::<String>::new());
}

#[test]
fn the_state_is_written_as_the_kept_file_says() {
    let state = lived();
    let written = to_bytes(&state).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden("current"), &written).unwrap();
    }
    assert!(!state.queue_usage().is_empty(), "what queues used is in it");
    let kept = std::fs::read(golden("current")).unwrap();
    let says = "what is written has changed: see tests/golden/README.md";
    assert!(written == kept, "{says}");
    let read = from_bytes(&kept).unwrap();
    assert_eq!(read, state);
    check_is_lived(&read);
}

#[test]
fn a_state_of_the_release_before_is_read() {
    check_is_lived(&from_bytes(&std::fs::read(golden("previous")).unwrap()).unwrap());
}

#[test]
fn what_is_kept_of_the_release_before_has_a_level_that_this_one_knows() {
    let level = |set| state::persist::level_of(&std::fs::read(golden(set)).unwrap()).unwrap();
    assert!(LEVELS.check(level("previous")).is_ok() && level("previous") <= level("current"));
}
