//! How many jobs a round searches for, and how the next one continues.

use super::*;
use crate::round::planner::TRIALS_MAX;

/// A node in use for ten minutes, and jobs that all ask for something different.
fn line_of(jobs: u32) -> Snapshot {
    let mut snapshot = snapshot(vec![cpu_node("a", 1)]);
    run(&mut snapshot, 900_000, share("a", "0"), Some(in_minutes(10)));
    wait(&mut snapshot, (1..=jobs).map(of_its_own));
    snapshot
}

fn of_its_own(job: u32) -> WaitingJob {
    let memory = Some(MemoryRequest::PerNode(Bytes(job.into())));
    waiting(job, Request { memory, ..request(1, 1) }, 10)
}

fn pass(snapshot: &mut Snapshot, now: Time) -> Seen {
    let seen = judged_at(snapshot, now);
    for decision in &seen.round.decisions {
        if let Decision::Start { key, allocation, .. } = decision {
            snapshot.start(*key, allocation.clone(), now);
        }
    }
    snapshot.set_planned_starts(seen.round.planned_starts.clone());
    snapshot.set_resume_cursor(seen.round.resume_cursor.clone());
    seen
}

fn unseen(seen: &Seen) -> usize {
    let reason =
        |job: &std::sync::Arc<WaitingJob>| seen.round.waits.reason_of(&seen.snapshot, job.key);
    let waits = seen.snapshot.all_waiting();
    waits.filter(|job| reason(job) == Some(WaitReason::NotConsidered)).count()
}

#[test]
fn the_example() {
    let mut snapshot = line_of(3);
    snapshot.set_trials_max(2);
    let seen = pass(&mut snapshot, NOW);
    assert_eq!((unseen(&seen), seen.round.next_look), (1, Some(NOW)));
    let reason = seen.reason(2);
    let seen = pass(&mut snapshot, NOW);
    assert_eq!((unseen(&seen), seen.round.next_look), (0, None), "the line has been looked at");
    assert_eq!(seen.reason(2), reason);
    wait(&mut snapshot, [of_its_own(4)]);
    let seen = pass(&mut snapshot, in_minutes(1));
    assert_eq!((unseen(&seen), seen.round.next_look), (0, None), "one search is enough");
}

#[test]
fn equivalent_jobs_cost_one_search() {
    let mut snapshot = snapshot(vec![cpu_node("a", 1)]);
    wait(&mut snapshot, (1..=30_000).map(|job| waiting(job, request(1, 1), 10)));
    let seen = judged(&snapshot);
    assert_eq!(seen.round.decisions.len(), 1);
    assert_eq!((unseen(&seen), seen.round.next_look), (0, None));
    assert!(seen.round.resume_cursor.is_empty());
}

#[test]
fn a_long_line_is_looked_at_in_as_many_rounds_as_it_takes_and_then_no_more() {
    let mut snapshot = line_of(30_000);
    let seen = pass(&mut snapshot, NOW);
    assert_eq!(unseen(&seen), 30_000 - TRIALS_MAX as usize);
    assert_eq!(seen.round.next_look, Some(NOW));
    let seen = pass(&mut snapshot, NOW);
    assert_eq!((unseen(&seen), seen.round.next_look), (0, None));
    assert!(seen.reason(1).contains("expected by"), "{}", seen.reason(1));
    assert!(seen.reason(30_000).starts_with("needs 1 CPU"), "{}", seen.reason(30_000));
}

#[test]
fn the_end_of_the_line_starts_though_something_comes_free_before_every_round() {
    let mut snapshot = line_of(40);
    snapshot.set_node(&gpu_node("g", 8));
    change_policy(&mut snapshot, |policy| policy.queues[0].nodes = vec![name("a")]);
    let mut r = queue("r");
    (r.priority, r.nodes) = (-1, vec![name("g")]);
    change_policy(&mut snapshot, |policy| policy.queues.push(r.clone()));
    let last = WaitingJob { queue: r.name, ..waiting(50_000, gpu_request(8), 10) };
    wait(&mut snapshot, [last]);
    snapshot.set_trials_max(8);
    let rounds = (0..20).take_while(|_| {
        snapshot.set_node(&cpu_node("a", 1));
        pass(&mut snapshot, NOW).given(50_000).is_empty()
    });
    assert!(rounds.count() <= 10, "four of them in each round");
}

#[test]
fn what_came_free_goes_to_the_first_though_others_are_still_to_be_looked_at() {
    let mut snapshot = line_of(10);
    snapshot.set_trials_max(4);
    pass(&mut snapshot, NOW);
    snapshot.remove_job(key(900_000));
    let seen = pass(&mut snapshot, in_minutes(1));
    assert_eq!(seen.given(1).len(), 1);
    assert_eq!(seen.round.next_look, Some(in_minutes(1)));
}

#[test]
fn a_job_that_asks_for_something_else_is_searched_for_again() {
    let mut snapshot = line_of(3);
    snapshot.set_node(&gpu_node("g", 1));
    change_policy(&mut snapshot, |policy| policy.queues[0].nodes = vec![name("a")]);
    snapshot.set_trials_max(2);
    pass(&mut snapshot, NOW);
    pass(&mut snapshot, NOW);
    assert!(pass(&mut snapshot, NOW).given(2).is_empty());
    let mut r = queue("r");
    r.nodes = vec![name("g")];
    change_policy(&mut snapshot, |policy| policy.queues.push(r.clone()));
    let given = |snapshot: &mut Snapshot| pass(snapshot, NOW).given(2).len();
    wait(&mut snapshot, [WaitingJob { queue: r.name, ..of_its_own(2) }]);
    assert_eq!((0..9).map(|_| given(&mut snapshot)).sum::<usize>(), 1);
}

#[test]
fn components_that_do_not_fit_are_not_searched_for_in_every_round() {
    let mut snapshot = line_of(0);
    for first in [1, 3, 5, 7] {
        let one = |job| WaitingJob { together: Some(key(first)), ..of_its_own(job) };
        wait(&mut snapshot, [one(first), one(first + 1)]);
    }
    snapshot.set_trials_max(2);
    let looks: Vec<_> = (0..5).map(|_| pass(&mut snapshot, NOW).round.next_look).collect();
    assert_eq!(looks, [Some(NOW), None, None, None, None], "a gang is one search");
}
