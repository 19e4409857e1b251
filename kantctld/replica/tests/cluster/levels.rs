//! Tests of replicas with different releases: one that does not know a rules level stops before it
//! acknowledges an entry of that level, and starts again with a newer release.

use crate::test_cluster::{NEW, TOO_NEW, TestCluster};
use common::rules_level::{RulesLevel, TooEarly};
use replica::{Bootstrap, Completion, LogError, ProposeError};

fn unknown(cluster: &TestCluster, id: u64) -> Option<u64> {
    match cluster.ends.get(&id) {
        Some(LogError::UnknownLevel { index, .. }) => Some(*index),
        Some(other) => panic!("{other}"),
        None => None,
    }
}

#[test]
fn a_replica_that_does_not_know_an_entry_stops_without_accepting_it() {
    let mut cluster = TestCluster::of(3);
    cluster.kill(3);
    cluster.old.insert(3);
    cluster.start(3);
    cluster.run(5);
    assert_eq!(cluster.propose_at(1, 5), Some(Ok(Completion::Applied(5))), "it takes part");
    let before = cluster.status(3).last.0;
    assert_eq!(cluster.propose_at(1, NEW), Some(Ok(Completion::Applied(5 + NEW))));
    cluster.run(3);
    assert_eq!(unknown(&cluster, 3), Some(before + 1));
    let text = common::causes::with_causes(&cluster.ends[&3]);
    assert!(text.contains("needs rules level 2") && text.contains("install"), "{text}");
    // It holds nothing of what it does not know, so it may start again and stop again.
    cluster.start(3);
    assert_eq!(cluster.status(3).last.0, before);
    cluster.run(3);
    assert_eq!(unknown(&cluster, 3), Some(before + 1));
    cluster.old.remove(&3);
    cluster.start(3);
    cluster.run(5);
    cluster.assert_all_know(&[5, NEW]);
}

#[test]
fn an_entry_that_most_replicas_do_not_know_is_not_committed() {
    let mut cluster = TestCluster::of(3);
    for id in [2, 3] {
        cluster.kill(id);
        cluster.old.insert(id);
        cluster.start(id);
    }
    cluster.run(5);
    let answer = cluster.propose_at(1, NEW);
    cluster.run(40);
    assert_eq!(answer, None);
    assert!(unknown(&cluster, 2).is_some() && unknown(&cluster, 3).is_some());
    // The entry is only in the log of 1. Without 1, the others go on without it.
    cluster.kill(1);
    [2, 3].into_iter().for_each(|id| cluster.start(id));
    cluster.run(60);
    let leader = cluster.leader();
    assert_eq!(cluster.propose_at(leader, 5), Some(Ok(Completion::Applied(5))));
    cluster.start(1);
    cluster.run(20);
    cluster.assert_all_know(&[5]);
}

#[test]
fn an_older_release_does_not_start_on_a_newer_log_or_snapshot() {
    for snapshot_every in [1 << 20, 1] {
        let mut cluster = TestCluster::of(1);
        cluster.snapshot_every = snapshot_every;
        cluster.kill(1);
        cluster.start(1);
        cluster.run(40);
        cluster.propose_at(1, NEW);
        cluster.propose_at(1, 5);
        cluster.run(5);
        cluster.kill(1);
        cluster.old.insert(1);
        let error = cluster.try_open(1, Bootstrap::None).err();
        assert!(matches!(error, Some(LogError::UnknownLevel { .. })), "{error:?}");
        cluster.old.clear();
        cluster.start(1);
        cluster.run(40);
        cluster.assert_all_know(&[NEW, 5]);
    }
}

#[test]
fn an_older_release_does_not_accept_a_newer_snapshot() {
    let mut cluster = TestCluster::of(3);
    cluster.isolate(3);
    cluster.propose_at(1, NEW);
    cluster.kill(1);
    cluster.kill(2);
    cluster.snapshot_every = 1;
    cluster.start(1);
    cluster.start(2);
    cluster.run(60);
    for number in 1..20 {
        let leader = cluster.leader();
        cluster.propose_at(leader, number);
        cluster.run(2);
    }
    cluster.kill(3);
    cluster.old.insert(3);
    cluster.start(3);
    cluster.heal();
    cluster.run(40);
    assert!(unknown(&cluster, 3).is_some());
}

#[test]
fn a_command_above_the_level_in_force_is_refused_and_the_others_of_its_batch_are_not() {
    let mut cluster = TestCluster::of(1);
    cluster.run(40);
    let leader = cluster.nodes.get_mut(&1).unwrap();
    leader.propose(vec![(5, 101), (TOO_NEW, 102), (6, 103)]);
    cluster.run(3);
    let too_early = TooEarly { needs: RulesLevel(3), level: RulesLevel(2) };
    assert_eq!(cluster.answers[&102], Err(ProposeError::TooEarly(too_early)));
    assert_eq!(cluster.answers[&103], Ok(Completion::Applied(11)));
    cluster.assert_all_know(&[5, 6]);
}
