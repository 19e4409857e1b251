//! Rounds over a small cluster. Never what the engine decides, only when it is asked and what
//! becomes of the answer.

use super::*;
use crate::tests::House;
use common::resource::Allocation;
use state::RoundStart;

/// Catches up with the house as kantctld does, and runs a round.
fn round(rounds: &mut Rounds, house: &mut House) -> Outcome {
    let told = std::mem::take(&mut house.untold);
    rounds.catch_up(&house.state, Some(&told), house.now);
    rounds.round(house.now)
}

fn starts(outcome: &Outcome) -> Vec<JobKey> {
    match &outcome.command {
        Some(Command::EnactRound { starts, .. }) => starts.iter().map(|s| s.id.key).collect(),
        None => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_round_is_held_when_something_happened_and_not_again() {
    let (mut rounds, mut house) = (Rounds::default(), House::of(&["a"]));
    assert!(starts(&round(&mut rounds, &mut house)).is_empty());
    let first = rounds.number();
    let job = house.job();
    let outcome = round(&mut rounds, &mut house);
    assert_eq!((starts(&outcome), rounds.number()), (vec![job], first + 1));
    assert_eq!(outcome.violations, []);
    house.apply(outcome.command.unwrap());
    assert!(starts(&round(&mut rounds, &mut house)).is_empty(), "it starts once");
    let last = rounds.number();
    assert!(round(&mut rounds, &mut house).command.is_none());
    assert_eq!(rounds.number(), last, "nothing happened: no round");
}

#[test]
fn what_came_to_nothing_is_decided_again() {
    let (mut rounds, mut house) = (Rounds::default(), House::of(&["a"]));
    let job = house.job();
    assert_eq!(starts(&round(&mut rounds, &mut house)), [job]);
    // The log did not take it, and nothing else happens.
    assert!(starts(&round(&mut rounds, &mut house)).is_empty());
    rounds.look_again();
    assert_eq!(starts(&round(&mut rounds, &mut house)), [job]);
}

#[test]
fn after_a_restart_events_of_the_time_between_are_not_missed() {
    let (mut rounds, mut house) = (Rounds::default(), House::of(&["a"]));
    let _ = round(&mut rounds, &mut house);
    let job = house.job();
    house.untold.clear();
    assert!(round(&mut rounds, &mut house).command.is_none(), "nobody told it");
    let number = rounds.number();
    rounds.restart();
    assert_ne!(rounds.number(), number, "reasons of the last term are void");
    assert_eq!(starts(&round(&mut rounds, &mut house)), [job]);
}

#[test]
fn unknown_events_make_it_look_at_everything() {
    let (mut rounds, mut house) = (Rounds::default(), House::of(&["a"]));
    let _ = round(&mut rounds, &mut house);
    let job = house.job();
    rounds.catch_up(&house.state, None, house.now);
    assert_eq!(starts(&rounds.round(house.now)), [job]);
}

#[test]
fn a_waiting_job_is_told_why_by_the_last_round() {
    let (mut rounds, mut house) = (Rounds::default(), House::new());
    let job = house.job();
    let _ = round(&mut rounds, &mut house);
    assert!(format!("{:?}", rounds.waits()).contains(&format!("{job:?}")), "{:?}", rounds.waits());
    assert_eq!(rounds.last().2, house.now);
}

#[test]
fn a_start_that_the_judge_does_not_pass_costs_its_job_and_nobody_else() {
    let mut house = House::of(&["a"]);
    let keys: Vec<JobKey> = (0..3).map(|_| house.job()).collect();
    let mut rounds = Rounds::default();
    rounds.catch_up(&house.state, None, house.now);
    let Some(Command::EnactRound { starts, .. }) = rounds.round(house.now).command else {
        panic!("three jobs can start");
    };
    let decision = |start: &RoundStart, allocation: &Allocation| Decision::Start {
        key: start.id.key,
        attempt: start.id.attempt,
        allocation: allocation.clone(),
        group: None,
    };
    // The second takes the same CPUs as the first.
    let decisions = vec![
        decision(&starts[0], &starts[0].allocation),
        decision(&starts[1], &starts[0].allocation),
        decision(&starts[2], &starts[2].allocation),
    ];
    let (passed, violations) = judged(rounds.fresh(house.now), house.now, decisions);
    let key = |decision: &Decision| match decision {
        Decision::Start { key, .. } => *key,
        other => panic!("{other:?}"),
    };
    assert_eq!(passed.iter().map(key).collect::<Vec<_>>(), [keys[0], keys[2]]);
    assert_eq!(violations.iter().map(|found| found.key).collect::<Vec<_>>(), [keys[1]]);
}
