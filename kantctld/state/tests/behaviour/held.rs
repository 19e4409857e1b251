//! The waiting time of a job that was held.

use crate::house::{House, USER};
use state::{Command, Target};

#[test]
fn a_job_waits_since_it_was_released_and_not_since_it_was_held() {
    let mut house = House::new();
    let key = house.job();
    let since = |house: &House| {
        let keeper = state::snapshot::SnapshotKeeper::new(&house.state);
        keeper.snapshot().waiting_job(key).map(|job| job.since())
    };
    let submitted = since(&house);
    assert!(submitted.is_some());
    house.apply(Command::HoldJob { actor: USER, target: Target { key } });
    house.wait(3600);
    house.apply(Command::ReleaseJob { actor: USER, target: Target { key } });
    let released = since(&house);
    assert_eq!(released, Some(house.state.now()));
    assert!(released > submitted);
}
