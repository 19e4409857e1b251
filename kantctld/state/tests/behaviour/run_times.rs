//! What the run times of a user's jobs let expect of the next ones.

use crate::house::{House, OPERATOR, exited, queue, running, settings, share, tasks_of};
use common::id::JobKey;
use common::job::{Ask, Outcome};
use common::policy::{Backfill, RunTimes};
use common::time::Span;
use state::snapshot::SnapshotKeeper;
use state::{Command, Settings, Target};

fn hour_long() -> Ask {
    Ask { time_limit: Some(Span::from_minutes(60)), ..tasks_of(1) }
}

/// Runs a job for these seconds.
fn run_for(house: &mut House, seconds: u64) -> JobKey {
    let key = JobKey::single(house.submit(hour_long()));
    let id = house.start(key, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", id, running());
    house.wait(seconds);
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(key), Some(Outcome::Completed));
    key
}

fn expected(house: &House, key: JobKey) -> Option<Span> {
    house.state.job(key.job).unwrap().expected
}

#[test]
fn a_job_is_expected_to_run_as_long_as_the_last_two_and_keeps_what_was_expected() {
    let mut house = House::new();
    let first = run_for(&mut house, 100);
    let second = run_for(&mut house, 200);
    assert_eq!(expected(&house, first), None);
    assert_eq!(expected(&house, second), Some(Span::from_seconds(100)));
    let third = JobKey::single(house.submit(hour_long()));
    run_for(&mut house, 1_000);
    assert_eq!(expected(&house, third), Some(Span::from_seconds(150)));
}

#[test]
fn a_cancelled_run_says_nothing_of_the_next_ones() {
    let mut house = House::new();
    run_for(&mut house, 100);
    let key = JobKey::single(house.submit(hour_long()));
    let id = house.start(key, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", id, running());
    house.wait(2_000);
    house.apply(Command::CancelJob { actor: OPERATOR, target: Target { key } });
    house.report("g1", id, exited(1));
    assert_eq!(house.outcome(key), Some(Outcome::Cancelled));
    let next = JobKey::single(house.submit(hour_long()));
    assert_eq!(expected(&house, next), Some(Span::from_seconds(100)));
}

#[test]
fn rounds_plan_by_it_where_the_queue_says_so_from_its_next_configuration_on() {
    let mut house = House::new();
    run_for(&mut house, 100);
    let key = JobKey::single(house.submit(hour_long()));
    let mut keeper = SnapshotKeeper::default();
    let mut seen = |house: &mut House, run_times| {
        let backfill = Backfill { run_times, ..Backfill::default() };
        let queues = vec![common::policy::queue::Queue { backfill, ..queue("main", true) }];
        let events = house.apply(Command::Configure(Settings { queues, ..settings() }));
        if keeper.snapshot().waiting_count() == 0 {
            keeper = SnapshotKeeper::new(&house.state);
        } else {
            keeper.update(&house.state, &events);
        }
        keeper.snapshot().waiting_job(key).unwrap().expected
    };
    assert_eq!(seen(&mut house, RunTimes::Limit), None);
    assert_eq!(seen(&mut house, RunTimes::Expected), Some(Span::from_seconds(100)));
    assert_eq!(seen(&mut house, RunTimes::Limit), None);
}
