//! Replays of large generated inputs, with a bound on their searches; a bound on time would depend
//! on the machine.
#![allow(clippy::unwrap_used)]

#[path = "scale/inputs.rs"]
mod inputs;

use inputs::{Input, easy, mixed, queues};
use sim::replay::{Plan, Unwatched, replay};
use trace::Estimates;

/// The number of searches for nodes per job.
fn searches_per_job(input: &Input) -> u64 {
    let Input { name, jobs, nodes, policy } = input;
    let estimates = Estimates::Request;
    let plan = Plan { trace: name, jobs, nodes, name, policy, estimates, seed: 0 };
    let outcome = replay(&plan, &mut Unwatched).unwrap();
    let ended = outcome.jobs.iter().filter(|job| job.end.is_some()).count();
    assert_eq!(ended + outcome.never_fit.len(), jobs.len());
    outcome.searches / jobs.len() as u64
}

/// A job of another queue that asks for the same is not tried in the same round.
#[test]
fn of_hundreds_of_leaf_queues_few_are_searched_for_in_a_round() {
    let searches = searches_per_job(&queues(4, 4));
    assert!(searches <= 10, "{searches} searches for each job");
}

/// A kind of jobs without room is compared with the freed nodes, not with all nodes. Searching all
/// nodes again, as rounds once did, takes 8 searches for each job.
#[test]
fn on_mixed_nodes_a_round_looks_only_where_something_was_freed() {
    let searches = searches_per_job(&mixed(800, 400));
    assert!(searches <= 5, "{searches} searches for each job");
}

/// The same, and no trial shows that a job would delay the first. With trials, as rounds once did,
/// it takes 18 searches for each job.
#[test]
fn easy_backfill_tries_few_jobs_that_would_delay_the_first() {
    let searches = searches_per_job(&easy(800, 160));
    assert!(searches <= 3, "{searches} searches for each job");
}
