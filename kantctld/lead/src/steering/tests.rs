//! Large arrays, steered part by part. Never a log.

use super::*;
use crate::Rounds;
use crate::tests::House;
use common::id::Uid;
use common::job::{Ask, Outcome, Phase};
use state::{Actor, Event};
use std::collections::BTreeSet;

const OWNER: Actor = Actor { uid: Uid(1000), operator: false };
const OPERATOR: Actor = Actor { uid: Uid(0), operator: true };

/// Not a multiple of a part's.
const TASKS: usize = 2 * TASKS_MAX + 345;

/// An array of [`TASKS`] tasks, without every second index.
fn array(house: &mut House) -> JobKey {
    let array = format!("0-{}:2", TASKS * 2 - 1).parse().unwrap();
    house.submit(Ask { array: Some(array), ..Ask::default() }, "#!/bin/sh\n".to_owned())
}

fn target(key: JobKey) -> Target {
    Target { key }
}

fn elements(house: &House, job: JobKey) -> Vec<state::job::Element> {
    house.state.job(job.job).unwrap().elements.values().cloned().collect()
}

/// Applies what may be refused.
fn apply(house: &mut House, command: Command) -> Vec<Event> {
    let stamped = state::Stamped { at: house.now, command };
    let events = state::apply(&mut house.state, &stamped);
    house.untold.extend(events.iter().cloned());
    events
}

/// Carries out at most `most` parts.
fn carry_out(house: &mut House, parts: &mut Parts, most: usize) {
    for _ in 0..most {
        let Some(part) = parts.next_part() else { return };
        let events = apply(house, part);
        let moved: BTreeSet<JobKey> = events.iter().filter_map(Event::key).collect();
        assert!(moved.len() <= TASKS_MAX, "one entry steers {} tasks", moved.len());
        parts.note(state::event::changed(&events));
    }
}

fn steer(house: &mut House, command: Command) -> Vec<JobKey> {
    let mut parts = Parts::new(&house.state, command, TASKS_MAX);
    carry_out(house, &mut parts, usize::MAX);
    parts.outcome().unwrap()
}

#[test]
fn all_tasks_are_steered_as_asked_and_few_by_one_entry() {
    let mut house = House::new();
    let key = array(&mut house);
    let (actor, target) = (OWNER, target(key));
    let changed = steer(&mut house, Command::HoldJob { actor: actor.clone(), target });
    assert_eq!(changed.len(), TASKS);
    assert!(changed.is_sorted());
    assert!(elements(&house, key).iter().all(|task| task.held));
    steer(&mut house, Command::ReleaseJob { actor: actor.clone(), target });
    assert!(elements(&house, key).iter().all(|task| !task.held));
    steer(&mut house, Command::CancelJob { actor: actor.clone(), target });
    let is_cancelled = |task: &state::job::Element| task.outcome == Some(Outcome::Cancelled);
    assert!(elements(&house, key).iter().all(is_cancelled));
    steer(&mut house, Command::RequeueJob { actor, target });
    assert!(elements(&house, key).iter().all(|task| task.phase == Phase::Pending));
    assert_eq!(state::invariant::check(&house.state), Vec::<String>::new());
}

#[test]
fn what_a_leader_left_halfway_is_finished_by_asking_again() {
    let mut house = House::new();
    let key = array(&mut house);
    let cancel = || Command::CancelJob { actor: OWNER, target: target(key) };
    let mut parts = Parts::new(&house.state, cancel(), TASKS_MAX);
    carry_out(&mut house, &mut parts, 2);
    drop(parts);
    let left = house.state.live().count();
    assert!((1..TASKS).contains(&left), "{left} are left");
    // Another leads, with no more than the log.
    let bytes = state::persist::to_bytes(&house.state).unwrap();
    house.state = state::persist::from_bytes(&bytes).unwrap();
    let changed = steer(&mut house, cancel());
    assert_eq!(changed.len(), left, "what was cancelled before is left as it is");
    assert_eq!(house.state.live().count(), 0);
    let done = house.untold.iter().filter(|event| matches!(event, Event::JobDone { .. }));
    assert_eq!(done.count(), TASKS, "each is told once");
}

#[test]
fn a_task_that_an_earlier_part_made_start_is_not_requeued_by_a_later_one() {
    let mut house = House::of(&["a"]);
    let key = array(&mut house);
    let before = house.now;
    house.wait(1);
    let mut rounds = Rounds::default();
    rounds.catch_up(&house.state, None, house.now);
    house.apply(rounds.round(house.now).command.unwrap());
    let is_starting = |task: &&state::job::Element| task.phase == Phase::Starting;
    let begun = elements(&house, key).iter().filter(is_starting).count();
    assert!(begun > 0 && begun < TASKS_MAX, "{begun}");
    let last = ArrayIndex(u32::try_from(begun * 2 - 2).unwrap());
    let asked = |asked_at| Command::SteerTasks {
        actor: OWNER,
        tasks: SomeTasks { job: key.job, first: ArrayIndex(0), last, asked_at },
        how: Steering::Requeue,
    };
    assert_eq!(house.apply(asked(before)), [], "they began since");
    assert_eq!(house.apply(asked(house.now)).len(), begun);
}

#[test]
fn what_is_asked_of_few_or_of_anothers_array_stays_one_command() {
    let mut house = House::new();
    let (one, key) = (house.job(), array(&mut house));
    let other = Actor { uid: Uid(7), operator: false };
    let task = JobKey { index: Some(ArrayIndex(0)), ..key };
    for (actor, key, count) in
        [(OWNER, one, 1), (OWNER, task, 1), (other, key, 1), (OWNER, key, 3), (OPERATOR, key, 3)]
    {
        let hold = Command::HoldJob { actor, target: target(key) };
        let mut parts = Parts::new(&house.state, hold.clone(), TASKS_MAX);
        assert_eq!((parts.left.len(), parts.is_whole()), (count, count == 1), "{hold:?}");
        if count == 1 {
            assert_eq!(parts.next_part(), Some(hold));
        }
    }
}

#[test]
fn it_is_refused_only_if_no_part_went_well() {
    let mut house = House::new();
    let key = array(&mut house);
    let release = || Command::ReleaseJob { actor: OWNER, target: target(key) };
    let mut parts = Parts::new(&house.state, release(), TASKS_MAX);
    carry_out(&mut house, &mut parts, usize::MAX);
    assert!(matches!(parts.outcome(), Err(Refusal::NotHeld { .. })));
    let last = JobKey { index: Some(ArrayIndex(u32::try_from(TASKS * 2 - 2).unwrap())), ..key };
    house.apply(Command::HoldJob { actor: OWNER, target: target(last) });
    let mut parts = Parts::new(&house.state, release(), TASKS_MAX);
    carry_out(&mut house, &mut parts, usize::MAX);
    assert_eq!(parts.outcome(), Ok(vec![last]));
}
