//! Tests of rounds on a small cluster: when the engine is asked, and what becomes of its decisions.

use super::*;
use common::resource::Allocation;
use state::RoundStart;
use testkit::TestCluster;

/// Catches up with the cluster as kantctld does, and runs a round.
fn round(rounds: &mut Rounds, cluster: &mut TestCluster) -> Outcome {
    let events = std::mem::take(&mut cluster.pending_events);
    rounds.catch_up(&cluster.state, Some(&events), cluster.now);
    rounds.round(cluster.now)
}

fn starts(outcome: &Outcome) -> Vec<JobKey> {
    match &outcome.command {
        Some(Command::EnactRound { starts, .. }) => starts.iter().map(|s| s.id.key).collect(),
        None => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_round_runs_once_after_a_change() {
    let (mut rounds, mut cluster) = (Rounds::default(), TestCluster::of(&["a"]));
    assert!(starts(&round(&mut rounds, &mut cluster)).is_empty());
    let first = rounds.number();
    let job = cluster.job();
    let outcome = round(&mut rounds, &mut cluster);
    assert_eq!((starts(&outcome), rounds.number()), (vec![job], first + 1));
    assert_eq!(outcome.violations, []);
    cluster.apply(outcome.command.unwrap());
    assert!(starts(&round(&mut rounds, &mut cluster)).is_empty(), "it starts once");
    let last = rounds.number();
    assert!(round(&mut rounds, &mut cluster).command.is_none());
    assert_eq!(rounds.number(), last, "nothing happened, so there is no round");
}

#[test]
fn a_round_whose_command_failed_is_repeated() {
    let (mut rounds, mut cluster) = (Rounds::default(), TestCluster::of(&["a"]));
    let job = cluster.job();
    assert_eq!(starts(&round(&mut rounds, &mut cluster)), [job]);
    // The log did not accept it, and nothing else happens.
    assert!(starts(&round(&mut rounds, &mut cluster)).is_empty());
    rounds.force_round();
    assert_eq!(starts(&round(&mut rounds, &mut cluster)), [job]);
}

#[test]
fn after_a_restart_events_of_the_time_between_are_not_missed() {
    let (mut rounds, mut cluster) = (Rounds::default(), TestCluster::of(&["a"]));
    let _ = round(&mut rounds, &mut cluster);
    let job = cluster.job();
    cluster.pending_events.clear();
    assert!(round(&mut rounds, &mut cluster).command.is_none(), "it has not read the event");
    let number = rounds.number();
    rounds.restart();
    assert_ne!(rounds.number(), number, "reasons of the last term are dropped");
    assert_eq!(starts(&round(&mut rounds, &mut cluster)), [job]);
}

#[test]
fn unknown_events_cause_a_rebuild_of_the_snapshot() {
    let (mut rounds, mut cluster) = (Rounds::default(), TestCluster::of(&["a"]));
    let _ = round(&mut rounds, &mut cluster);
    let job = cluster.job();
    rounds.catch_up(&cluster.state, None, cluster.now);
    assert_eq!(starts(&rounds.round(cluster.now)), [job]);
}

#[test]
fn a_waiting_job_has_the_reason_of_the_last_round() {
    let (mut rounds, mut cluster) = (Rounds::default(), TestCluster::new());
    let job = cluster.job();
    let _ = round(&mut rounds, &mut cluster);
    assert!(
        format!("{:?}", rounds.wait_reasons()).contains(&format!("{job:?}")),
        "{:?}",
        rounds.wait_reasons()
    );
    assert_eq!(rounds.last().2, cluster.now);
}

#[test]
fn a_start_that_the_judge_rejects_affects_no_other_job() {
    let mut cluster = TestCluster::of(&["a"]);
    let keys: Vec<JobKey> = (0..3).map(|_| cluster.job()).collect();
    let mut rounds = Rounds::default();
    rounds.catch_up(&cluster.state, None, cluster.now);
    let Some(Command::EnactRound { starts, .. }) = rounds.round(cluster.now).command else {
        panic!("three jobs can start");
    };
    let decision = |start: &RoundStart, allocation: &Allocation| Decision::Start {
        key: start.id.key,
        attempt: start.id.attempt,
        allocation: allocation.clone(),
        group: None,
    };
    // The second one takes the same CPUs as the first.
    let decisions = vec![
        decision(&starts[0], &starts[0].allocation),
        decision(&starts[1], &starts[0].allocation),
        decision(&starts[2], &starts[2].allocation),
    ];
    let (passed, violations) =
        remove_violations(rounds.prepared_snapshot(cluster.now), cluster.now, decisions);
    let key = |decision: &Decision| match decision {
        Decision::Start { key, .. } => *key,
        other => panic!("{other:?}"),
    };
    assert_eq!(passed.iter().map(key).collect::<Vec<_>>(), [keys[0], keys[2]]);
    assert_eq!(violations.iter().map(|found| found.key).collect::<Vec<_>>(), [keys[1]]);
}
