//! The size of the state: a hundred thousand waiting jobs must fit in a few hundred megabytes.

use crate::house::{House, settings};
use common::id::JobKey;
use common::job::Ask;
use state::job::Element;
use state::persist::to_bytes;
use state::{Command, Stamped, State};

/// Submits like `House`, but judges only at the end, since judging each job would take minutes.
fn with_jobs(count: u32, ask: &Ask) -> State {
    let mut house = House::empty();
    let mut state = State::default();
    let at = house.now;
    let mut apply = |command| state::apply(&mut state, &Stamped { at, command });
    apply(Command::Configure(settings()));
    let commands: Vec<Command> = (0..count).map(|_| house.submission(ask.clone())).collect();
    for command in commands {
        apply(command);
    }
    assert_eq!(state::invariant::check(&state), Vec::<String>::new());
    state
}

#[test]
fn a_waiting_job_takes_less_than_a_kilobyte_and_a_half() {
    let ask = Ask {
        name: "a-usual-name".to_owned(),
        work_dir: "/home/ada/project/experiments".to_owned(),
        args: vec!["--config".to_owned(), "large.toml".to_owned()],
        ..Ask::default()
    };
    let bytes = to_bytes(&with_jobs(1000, &ask)).unwrap().len();
    assert!(bytes < 1_500_000, "{bytes} bytes for 1000 jobs");
}

#[test]
fn a_waiting_array_task_takes_less_than_a_hundred_bytes() {
    let ask = Ask { array: Some("0-9999".parse().unwrap()), ..Ask::default() };
    let state = with_jobs(1, &ask);
    let bytes = to_bytes(&state).unwrap().len();
    assert!(bytes < 1_000_000, "{bytes} bytes for 10000 tasks");
    assert!(size_of::<Element>() <= 96, "{} bytes", size_of::<Element>());
}

#[test]
fn a_clone_shares_what_does_not_change() {
    let mut state = with_jobs(2, &Ask::default());
    let before = state.clone();
    let (first, second) = (common::id::JobId(1), common::id::JobId(2));
    let target = state::Target { key: JobKey::single(first) };
    let command = Command::CancelJob { actor: crate::house::USER, target };
    let at = state.now();
    state::apply(&mut state, &Stamped { at, command });
    let same = |id| std::ptr::eq(state.job(id).unwrap(), before.job(id).unwrap());
    assert_eq!((same(first), same(second)), (false, true));
    let old = before.job(first).unwrap();
    assert!(
        old.elements.values().all(|element| element.outcome.is_none()),
        "the clone is as it was"
    );
}
