//! Tests of commands on large arrays, part by part.

use super::*;
use crate::Rounds;
use common::id::Uid;
use common::job::{Ask, Outcome, Phase};
use state::{Actor, Event};
use std::collections::BTreeSet;
use testkit::{OPERATOR, TestCluster, USER};

/// Not a multiple of the size of a part.
const TASKS: usize = 2 * TASKS_MAX + 345;

/// An array of [`TASKS`] tasks, without every second index.
fn array(cluster: &mut TestCluster) -> JobKey {
    let array = format!("0-{}:2", TASKS * 2 - 1).parse().unwrap();
    cluster.job_of(Ask { array: Some(array), ..Ask::default() })
}

fn target(key: JobKey) -> Target {
    Target { key }
}

fn elements(cluster: &TestCluster, job: JobKey) -> Vec<state::job::Element> {
    cluster.state.job(job.job).unwrap().elements.values().cloned().collect()
}

/// Applies a command that may be refused.
fn apply(cluster: &mut TestCluster, command: Command) -> Vec<Event> {
    let stamped = state::Stamped { at: cluster.now, command };
    let events = state::apply(&mut cluster.state, &stamped);
    cluster.pending_events.extend(events.iter().cloned());
    events
}

/// Carries out at most `most` parts.
fn carry_out(cluster: &mut TestCluster, parts: &mut Parts, most: usize) {
    for _ in 0..most {
        let Some(part) = parts.next_part() else { return };
        let events = apply(cluster, part);
        let moved: BTreeSet<JobKey> = events.iter().filter_map(Event::key).collect();
        assert!(moved.len() <= TASKS_MAX, "one entry changes {} tasks", moved.len());
        parts.note(state::event::changed_jobs(&events));
    }
}

fn act(cluster: &mut TestCluster, command: Command) -> Vec<JobKey> {
    let mut parts = Parts::new(&cluster.state, command, TASKS_MAX);
    carry_out(cluster, &mut parts, usize::MAX);
    parts.outcome().unwrap()
}

#[test]
fn all_tasks_are_changed_as_asked_and_few_by_one_entry() {
    let mut cluster = TestCluster::new();
    let key = array(&mut cluster);
    let (actor, target) = (USER, target(key));
    let changed = act(&mut cluster, Command::HoldJob { actor: actor.clone(), target });
    assert_eq!(changed.len(), TASKS);
    assert!(changed.is_sorted());
    assert!(elements(&cluster, key).iter().all(|task| task.held));
    act(&mut cluster, Command::ReleaseJob { actor: actor.clone(), target });
    assert!(elements(&cluster, key).iter().all(|task| !task.held));
    act(&mut cluster, Command::CancelJob { actor: actor.clone(), target });
    let is_cancelled = |task: &state::job::Element| task.outcome == Some(Outcome::Cancelled);
    assert!(elements(&cluster, key).iter().all(is_cancelled));
    act(&mut cluster, Command::RequeueJob { actor, target });
    assert!(elements(&cluster, key).iter().all(|task| task.phase == Phase::Pending));
    assert_eq!(state::invariant::check(&cluster.state), Vec::<String>::new());
}

#[test]
fn a_command_that_a_leader_left_halfway_is_finished_by_repeating_it() {
    let mut cluster = TestCluster::new();
    let key = array(&mut cluster);
    let cancel = || Command::CancelJob { actor: USER, target: target(key) };
    let mut parts = Parts::new(&cluster.state, cancel(), TASKS_MAX);
    carry_out(&mut cluster, &mut parts, 2);
    drop(parts);
    let left = cluster.state.live().count();
    assert!((1..TASKS).contains(&left), "{left} are left");
    // Another controller leads, with only the log.
    let bytes = state::persist::to_bytes(&cluster.state).unwrap();
    cluster.state = state::persist::from_bytes(&bytes).unwrap();
    let changed = act(&mut cluster, cancel());
    assert_eq!(changed.len(), left, "cancelled tasks do not change again");
    assert_eq!(cluster.state.live().count(), 0);
    let done = cluster.pending_events.iter().filter(|event| matches!(event, Event::JobDone { .. }));
    assert_eq!(done.count(), TASKS, "each is reported once");
}

#[test]
fn a_task_that_an_earlier_part_made_start_is_not_requeued_by_a_later_one() {
    let mut cluster = TestCluster::of(&["a"]);
    let key = array(&mut cluster);
    let before = cluster.now;
    cluster.wait(1);
    let mut rounds = Rounds::default();
    rounds.catch_up(&cluster.state, None, cluster.now);
    cluster.apply(rounds.round(cluster.now).command.unwrap());
    let is_starting = |task: &&state::job::Element| task.phase == Phase::Starting;
    let begun = elements(&cluster, key).iter().filter(is_starting).count();
    assert!(begun > 0 && begun < TASKS_MAX, "{begun}");
    let last = ArrayIndex(u32::try_from(begun * 2 - 2).unwrap());
    let asked = |asked_at| Command::ActOnTasks {
        actor: USER,
        tasks: SomeTasks { job: key.job, first: ArrayIndex(0), last, asked_at },
        how: BulkAction::Requeue,
    };
    assert_eq!(cluster.apply(asked(before)), [], "they started since");
    assert_eq!(cluster.apply(asked(cluster.now)).len(), begun);
}

#[test]
fn a_command_on_few_tasks_or_on_anothers_array_is_not_split() {
    let mut cluster = TestCluster::new();
    let (one, key) = (cluster.job(), array(&mut cluster));
    let other = Actor::user(Uid(7));
    let task = JobKey { index: Some(ArrayIndex(0)), ..key };
    for (actor, key, count) in
        [(USER, one, 1), (USER, task, 1), (other, key, 1), (USER, key, 3), (OPERATOR, key, 3)]
    {
        let hold = Command::HoldJob { actor, target: target(key) };
        let mut parts = Parts::new(&cluster.state, hold.clone(), TASKS_MAX);
        assert_eq!((parts.left.len(), parts.is_whole()), (count, count == 1), "{hold:?}");
        if count == 1 {
            assert_eq!(parts.next_part(), Some(hold));
        }
    }
}

#[test]
fn a_command_is_refused_only_if_every_part_is() {
    let mut cluster = TestCluster::new();
    let key = array(&mut cluster);
    let release = || Command::ReleaseJob { actor: USER, target: target(key) };
    let mut parts = Parts::new(&cluster.state, release(), TASKS_MAX);
    carry_out(&mut cluster, &mut parts, usize::MAX);
    assert!(matches!(parts.outcome(), Err(Refusal::NotHeld { .. })));
    let last = JobKey { index: Some(ArrayIndex(u32::try_from(TASKS * 2 - 2).unwrap())), ..key };
    cluster.apply(Command::HoldJob { actor: USER, target: target(last) });
    let mut parts = Parts::new(&cluster.state, release(), TASKS_MAX);
    carry_out(&mut cluster, &mut parts, usize::MAX);
    assert_eq!(parts.outcome(), Ok(vec![last]));
}
