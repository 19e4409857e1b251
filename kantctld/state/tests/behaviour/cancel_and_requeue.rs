//! Cancel and requeue in every phase, and their combinations.

use crate::house::{House, attempt, end, exited, queue, running, settings, share};
use common::id::{ArrayIndex, Attempt, AttemptId, JobKey};
use common::job::{Ask, EndCause, Outcome, Phase};
use common::time::Span;
use common::wire::node::Want;
use state::{Command, Event, Settings};

/// A job that runs on g1.
fn living(house: &mut House) -> AttemptId {
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    id
}

#[test]
fn cancelling_a_waiting_job_ends_it_at_once() {
    let mut house = House::new();
    let key = house.job();
    let cancel = house.cancel(key);
    let by = Some(crate::house::USER.uid);
    let (attempt, outcome) = (Attempt(0), Outcome::Cancelled);
    assert_eq!(house.apply(cancel.clone()), [Event::JobDone { key, attempt, outcome, by }]);
    let refusal = house.refused(cancel).to_string();
    assert_eq!(refusal, "cannot cancel job 1: it has ended (CANCELLED)");
}

#[test]
fn cancelling_a_running_job_stops_it_and_keeps_its_place_until_the_node_lets_go() {
    let mut house = House::new();
    let id = living(&mut house);
    let cancel = house.cancel(id.key);
    house.apply(cancel.clone());
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Completing, Some(Want::Stop)));
    assert!(house.state.ledger().holdings_on(&crate::house::name("g1")).is_some());
    let refusal = house.refused(cancel).to_string();
    assert_eq!(refusal, "job 1 is already ending");
    house.report("g1", id, end(EndCause::Stopped, 143));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));
}

#[test]
fn a_job_that_succeeded_before_the_cancel_reached_it_has_succeeded() {
    let mut house = House::new();
    let id = living(&mut house);
    let cancel = house.cancel(id.key);
    house.apply(cancel);
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
}

#[test]
fn a_job_that_failed_after_a_cancel_is_cancelled() {
    let mut house = House::new();
    let id = living(&mut house);
    let cancel = house.cancel(id.key);
    house.apply(cancel);
    house.report("g1", id, exited(1));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));
}

#[test]
fn cancelling_an_array_ends_all_its_tasks_that_live() {
    let mut house = House::new();
    let job = house.submit(Ask { array: Some("0-2".parse().unwrap()), ..Ask::default() });
    let task = |index| JobKey { job, index: Some(ArrayIndex(index)) };
    let id = house.start(task(0), vec![share("g1", 0, 2, &[])]);
    let cancel = house.cancel(task(1));
    house.apply(cancel);
    let cancel = house.cancel(JobKey::single(job));
    let events = house.apply(cancel.clone());
    assert_eq!(state::event::changed_jobs(&events), Ok(vec![task(0), task(2)]));
    house.report("g1", id, end(EndCause::Stopped, 0));
    house.refused(cancel);
    let unknown = house.cancel(task(3));
    assert!(house.refused(unknown).to_string().contains("there is no job 1_3"));
}

#[test]
fn requeueing_a_running_job_stops_it_first() {
    let mut house = House::new();
    let id = living(&mut house);
    let requeue = house.requeue(id.key);
    house.apply(requeue);
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Completing, Some(Want::Stop)));
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Pending, None));
    let again = house.start(id.key, vec![share("g2", 0, 2, &[])]);
    assert_eq!(again, attempt(id.key, 2));
    assert_eq!(house.report("g1", id, running()), [], "the first attempt is history");
}

#[test]
fn a_finished_job_can_run_again_and_a_waiting_one_cannot() {
    let mut house = House::new();
    let id = living(&mut house);
    house.report("g1", id, exited(2));
    let requeue = house.requeue(id.key);
    let again = Event::JobRequeued { key: id.key, attempt: Attempt(1), preempted_by: None };
    assert_eq!(house.apply(requeue.clone()), [again]);
    assert_eq!((house.phase(id.key), house.outcome(id.key)), (Phase::Pending, None));
    let refusal = house.refused(requeue).to_string();
    assert_eq!(refusal, "cannot requeue job 1: it is PENDING");
}

#[test]
fn cancel_wins_over_a_requeue_that_is_under_way_and_the_other_way_round() {
    let mut house = House::new();
    let id = living(&mut house);
    let (cancel, requeue) = (house.cancel(id.key), house.requeue(id.key));
    house.apply(requeue.clone());
    house.apply(cancel.clone());
    house.apply(requeue);
    house.apply(cancel);
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));
}

#[test]
fn a_job_that_started_cannot_be_held() {
    let mut house = House::new();
    let id = living(&mut house);
    let target = state::Target { key: id.key };
    let hold = state::Command::HoldJob { actor: crate::house::USER, target };
    assert_eq!(house.refused(hold).to_string(), "cannot hold job 1: it is RUNNING");
}

#[test]
fn a_finished_job_lives_again_only_by_the_rules_of_today() {
    let mut house = House::new();
    let of_root = Settings { allow_root_jobs: true, ..settings() };
    house.apply(Command::Configure(of_root));
    let mut command = house.submission(Ask::default());
    if let Command::SubmitJob { owner, .. } = &mut command {
        owner.uid = crate::house::OPERATOR.uid;
    }
    house.apply(command);
    let root = JobKey::single(house.state.last_job_id());
    let plain = house.job();
    let time_limit = Some(Span::from_minutes(90));
    let long = JobKey::single(house.submit(Ask { time_limit, ..Ask::default() }));
    for key in [root, plain, long] {
        let id = house.start(key, vec![share("g1", 0, 2, &[])]);
        house.report("g1", id, exited(0));
    }
    let mut main = queue("main", true);
    main.time_limit_max = Some(Span::from_minutes(60));
    house.apply(Command::Configure(Settings { queues: vec![main], ..settings() }));
    let target = state::Target { key: root };
    let requeue = Command::RequeueJob { actor: crate::house::OPERATOR, target };
    assert_eq!(house.refused(requeue).code(), "root_job");
    let requeue = house.requeue(plain);
    assert!(house.refused(requeue).to_string().contains("job 2 has no time limit"));
    let requeue = house.requeue(long);
    assert_eq!(house.refused(requeue).code(), "time_limit_too_long");
    house.apply(Command::Configure(settings()));
    let requeue = house.requeue(long);
    house.apply(requeue);
    assert_eq!(house.phase(long), Phase::Pending);
}
