//! Replays of large generated inputs, with a bound on their searches; a bound on time would depend
//! on the machine.
#![allow(clippy::unwrap_used)]

#[path = "scale/inputs.rs"]
mod inputs;

use inputs::{Input, easy, mixed, queues};
use sim::replay::{Plan, Unwatched, replay};
use sim::trace::Estimates;

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
    assert!(searches <= 40, "{searches} searches for each job");
}

/// A job without room is not tried again before something is freed where it may run.
#[test]
fn on_mixed_nodes_a_round_does_not_retry_what_the_last_one_found_full() {
    let searches = searches_per_job(&mixed(800, 400));
    assert!(searches <= 40, "{searches} searches for each job");
}

#[test]
fn easy_backfill_does_not_retry_what_the_last_round_found_full() {
    let searches = searches_per_job(&easy(800, 160));
    assert!(searches <= 40, "{searches} searches for each job");
}
