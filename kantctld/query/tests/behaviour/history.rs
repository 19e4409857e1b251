//! Records for accounting: every ended run once, with what it kept from others.

use crate::house::{House, end, exited, running, share, tasks_of};
use common::id::{AttemptId, JobKey};
use common::job::{EndCause, STEPS_REPORTED_MAX, StepEnd, StepRecord};
use common::time::Time;
use common::wire::api::HistoryRun;
use common::wire::node::StepPhase;
use query::history::{self, EndedRun, Standing};
use state::{Command, Event};

fn runs_on_g1(house: &mut House, key: JobKey) -> AttemptId {
    let id = house.start(key, vec![share("g1", 0, 2, &[0, 1])]);
    house.report("g1", id, running());
    id
}

/// The records that accounting derives from these events.
fn reported(house: &House, events: &[Event]) -> Vec<(String, u32, bool)> {
    ended(house, events).iter().map(short).collect()
}

/// The same in full. A replica that did not see the events makes the same records.
fn ended(house: &House, events: &[Event]) -> Vec<HistoryRun> {
    let runs: Vec<_> =
        history::ended_runs(&house.state, events).iter().map(EndedRun::record).collect();
    let all: Vec<_> = history::all_ended(&house.state).collect();
    runs.iter().for_each(|run| assert!(all.contains(run), "{run:?} is not in {all:?}"));
    runs
}

fn short(run: &HistoryRun) -> (String, u32, bool) {
    (run.job.state.clone(), run.run, run.requeued)
}

fn all(house: &House) -> Vec<(String, u32, bool)> {
    history::all_ended(&house.state).map(|run| short(&run)).collect()
}

#[test]
fn a_run_is_reported_when_it_is_over_with_what_it_kept_from_others() {
    let mut house = House::new();
    let key = house.job();
    let id = runs_on_g1(&mut house, key);
    house.wait(10);
    let events = house.report("g1", id, exited(3));
    let runs = ended(&house, &events);
    let [run] = runs.as_slice() else { panic!("one run: {runs:?}") };
    assert_eq!(short(run), ("FAILED".to_owned(), 1, false));
    let span = run.job.ended_at.unwrap().since(run.allocated_at.unwrap()).0;
    assert!(span >= 10_000);
    assert_eq!((run.gpu_milliseconds, run.cpu_milliseconds), (2 * span, 2 * span));
    assert_eq!(all(&house), [("FAILED".to_owned(), 1, false)]);
}

#[test]
fn a_run_that_was_requeued_is_reported_and_kept_beside_the_next() {
    let mut house = House::new();
    let key = house.job();
    let id = runs_on_g1(&mut house, key);
    let requeue = house.requeue(key);
    house.apply(requeue);
    let events = house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(reported(&house, &events), [("REQUEUED".to_owned(), 1, true)]);
    let id = runs_on_g1(&mut house, key);
    let events = house.report("g1", id, exited(0));
    assert_eq!(reported(&house, &events), [("COMPLETED".to_owned(), 2, false)]);
    let both = [("REQUEUED".to_owned(), 1, true), ("COMPLETED".to_owned(), 2, false)];
    assert_eq!(all(&house), both);
    // After another requeue, its last run is an earlier one.
    let requeue = house.requeue(key);
    let events = house.apply(requeue);
    assert_eq!(reported(&house, &events), [("COMPLETED".to_owned(), 2, true)]);
    assert_eq!(all(&house).len(), 2);
}

fn steps(count: usize) -> StepPhase {
    let StepPhase::Ended(end) = exited(0) else { panic!("it ended") };
    let step = |number: usize| StepRecord {
        number: u32::try_from(number).unwrap(),
        name: "reported-and-forgotten".to_owned(),
        nodes: "g1".to_owned(),
        node_count: 1,
        tasks: 1,
        cpus: 1,
        gpus: None,
        started_at: Time(1),
        ended_at: Some(Time(2)),
        exit: None,
        cut_off: false,
    };
    StepPhase::Ended(Box::new(StepEnd { steps: (0..count).map(step).collect(), ..*end }))
}

#[test]
fn steps_are_reported_once_by_the_first_node_alone_a_bounded_number_of_them() {
    let mut house = House::new();
    let key = house.gang(2);
    let id = house.start(key, vec![share("g1", 0, 1, &[]), share("g2", 0, 1, &[])]);
    for node in ["g1", "g2"] {
        house.report(node, id, StepPhase::Ready);
    }
    let reported = |events: &[Event]| {
        history::ended_steps(events).map(|ended| (ended.id, ended.steps.len())).collect::<Vec<_>>()
    };
    let events = house.report("g2", id, steps(2));
    assert_eq!(reported(&events), [], "it is not the first");
    let events = house.report("g1", id, steps(STEPS_REPORTED_MAX + 9));
    assert_eq!(reported(&events), [(id, STEPS_REPORTED_MAX)]);
    let events = house.report("g1", id, steps(3));
    assert_eq!(reported(&events), [], "that was said");
    assert!(!format!("{:?}", house.state).contains("reported-and-forgotten"), "no step is state");
}

#[test]
fn what_never_ran_is_reported_as_the_run_it_would_have_been() {
    let mut house = House::new();
    let key = house.job();
    let cancel = house.cancel(key);
    let events = house.apply(cancel);
    assert_eq!(reported(&house, &events), [("CANCELLED".to_owned(), 1, false)]);
    let runs: Vec<HistoryRun> = history::all_ended(&house.state).collect();
    assert_eq!((runs[0].allocated_at, runs[0].gpu_milliseconds), (None, 0));
    assert_eq!(runs[0].job.attempt, 0);
}

#[test]
fn only_so_many_earlier_runs_are_kept_in_the_state() {
    let mut house = House::new();
    let key = house.job();
    for _ in 0..state::job::EARLIER_MAX + 3 {
        let id = runs_on_g1(&mut house, key);
        let requeue = house.requeue(key);
        house.apply(requeue);
        house.report("g1", id, end(EndCause::Stopped, 0));
    }
    let numbers: Vec<u32> = history::all_ended(&house.state).map(|run| run.run).collect();
    assert_eq!(numbers, (4..=11).collect::<Vec<u32>>());
}

#[test]
fn what_runs_has_used_its_time_so_far() {
    let mut house = House::new();
    let key = house.job();
    runs_on_g1(&mut house, key);
    let since = house.element(key).run.as_ref().unwrap().allocated_at;
    let used: Vec<u64> = history::unfinished_runs(&house.state, Time(since.0 + 500))
        .map(|run| run.gpu_milliseconds)
        .collect();
    assert_eq!(used, [1000]);
    assert!(all(&house).is_empty());
}

#[test]
fn a_node_that_was_given_back_is_not_counted_any_more() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(tasks_of(2)));
    let id = house.start(key, vec![share("g1", 0, 2, &[0]), share("g2", 0, 4, &[0, 1, 2])]);
    house.wait(10);
    house.report("g1", id, running());
    house.report("g2", id, running());
    house.report("g2", id, exited(0));
    house.wait(5);
    let of = |run: &HistoryRun| (run.gpu_milliseconds, run.cpu_milliseconds);
    let so_far: Vec<_> =
        history::unfinished_runs(&house.state, house.now).map(|run| of(&run)).collect();
    assert_eq!(so_far, [(45_000, 70_000)]);
    let events = house.report("g1", id, exited(0));
    let runs = ended(&house, &events);
    assert_eq!(runs.iter().map(of).collect::<Vec<_>>(), [(45_000, 70_000)]);
    let hours = house.state.usage().iter().flat_map(|(_, hours)| hours.values());
    let charged: u64 = hours.map(|used| used.gpu_milliseconds).sum();
    assert_eq!(charged, 45_000, "no more than fair share charged");
    let again = house.requeue(key);
    house.apply(again);
    let earlier: Vec<_> = history::all_ended(&house.state).map(|run| of(&run)).collect();
    assert_eq!(earlier, [(45_000, 70_000)]);
}

#[test]
fn nodes_come_and_go_and_are_drained() {
    let mut house = House::new();
    let events = house.silence("g1");
    let standing = |house: &House, events: &[Event]| -> Vec<Standing> {
        history::changed_nodes(&house.state, events).iter().map(|node| node.standing).collect()
    };
    assert_eq!(standing(&house, &events), [Standing::Down]);
    let events = house.register("g1", &[]);
    assert_eq!(standing(&house, &events), [Standing::Up]);
    let actor = state::Actor::operator(common::id::Uid(0));
    let (name, reason) = (crate::house::name("g1"), "fan".to_owned());
    let events = house.apply(Command::DrainNode { actor, name, reason });
    assert_eq!(standing(&house, &events), [Standing::Drained]);
}
