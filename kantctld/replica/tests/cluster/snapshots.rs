//! Tests of snapshots for members that are far behind or new.

use crate::test_cluster::TestCluster;
use replica::Completion;
use std::collections::BTreeMap;

#[test]
fn a_new_controller_is_caught_up_by_a_snapshot_where_the_log_was_truncated() {
    let mut cluster = TestCluster::found();
    cluster.snapshot_every = 10;
    cluster.kill(1);
    cluster.start(1);
    cluster.run(1);
    for number in 0..50 {
        cluster.propose_at(1, number);
    }
    assert!(cluster.status(1).snapshot.0 >= 40);
    cluster.join(2);
    cluster.run(30);
    let known: Vec<u64> = (0..50).collect();
    cluster.assert_all_know(&known);
    assert_eq!(cluster.status(1).members.voters, [1, 2]);
    cluster.cut_power(2);
    cluster.start(2);
    cluster.run(30);
    cluster.assert_all_know(&known);
}

#[test]
fn a_follower_that_missed_a_truncated_part_of_the_log_catches_up_by_a_snapshot() {
    let mut cluster = TestCluster::of(3);
    cluster.snapshot_every = 10;
    for id in 1..=3 {
        cluster.kill(id);
    }
    (1..=3).for_each(|id| cluster.start(id));
    cluster.run(40);
    let leader = cluster.leader();
    let away = if leader == 3 { 2 } else { 3 };
    cluster.kill(away);
    for number in 0..60 {
        let answer = cluster.propose_at(leader, number);
        assert!(matches!(answer, Some(Ok(Completion::Applied(_)))), "{answer:?}");
    }
    cluster.start(away);
    cluster.run(30);
    cluster.assert_all_know(&(0..60).collect::<Vec<_>>());
    assert!(cluster.status(away).snapshot.0 >= 40, "not by a snapshot");
    assert!(cluster.propose_at(leader, 60).is_some());
    cluster.assert_all_know(&(0..=60).collect::<Vec<_>>());
}

#[test]
fn a_lost_snapshot_is_sent_again() {
    let mut cluster = TestCluster::found();
    cluster.snapshot_every = 5;
    cluster.kill(1);
    cluster.start(1);
    cluster.run(1);
    for number in 0..30 {
        cluster.propose_at(1, number);
    }
    cluster.join(2);
    cluster.isolate(2);
    cluster.run(10);
    assert_eq!(cluster.numbers(2), [0_u64; 0]);
    cluster.heal();
    cluster.run(30);
    cluster.assert_all_know(&(0..30).collect::<Vec<_>>());
}

#[test]
fn a_few_large_entries_cause_a_snapshot_and_a_large_state_causes_fewer() {
    let mut cluster = TestCluster::found();
    cluster.snapshot_bytes_min = 8 * 100;
    cluster.kill(1);
    cluster.start(1);
    cluster.run(1);
    let mut taken = vec![cluster.status(1).snapshot.0];
    let mut number = 0;
    for _ in 0..100 {
        // Eight bytes each, in an entry and in a snapshot.
        let batch: Vec<(u64, u32)> = (0..20).map(|_| (0, cluster.ticket())).collect();
        number += 20;
        cluster.nodes.get_mut(&1).unwrap().propose(batch);
        cluster.run(1);
        let snapshot = cluster.status(1).snapshot.0;
        if taken.last() != Some(&snapshot) {
            taken.push(snapshot);
        }
    }
    assert_eq!(cluster.numbers(1).len(), number);
    let apart: Vec<u64> = taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // First more than 100 numbers, with two entries of elections; then more than the last snapshot.
    assert_eq!(apart, [8, 7, 14, 28]);
}

#[test]
fn a_replica_that_starts_counts_replayed_entries_towards_the_next_snapshot() {
    let mut cluster = TestCluster::found();
    cluster.snapshot_bytes_min = 8 * 30;
    cluster.kill(1);
    cluster.start(1);
    cluster.run(1);
    let before = cluster.status(1).snapshot;
    for number in 0..30 {
        cluster.propose_at(1, number);
        if number % 6 == 0 {
            cluster.kill(1);
            cluster.start(1);
            cluster.run(1);
        }
    }
    assert_eq!(cluster.status(1).snapshot, before);
    cluster.propose_at(1, 30);
    assert!(cluster.status(1).snapshot > before, "the 31st number counts with those before");
    assert_eq!(cluster.numbers(1), (0..31).collect::<Vec<_>>());
}

/// A single controller that takes a snapshot every 10 entries, and writes it slowly.
fn slow_writer() -> TestCluster {
    let mut cluster = TestCluster::found();
    (cluster.snapshot_every, cluster.under_way) = (10, Some(BTreeMap::new()));
    cluster.kill(1);
    cluster.start(1);
    cluster.run(1);
    cluster
}

#[test]
fn entries_are_committed_while_a_snapshot_is_written_and_are_not_in_it() {
    let mut cluster = slow_writer();
    let before = cluster.status(1).snapshot;
    (0..40).for_each(|number| assert!(cluster.propose_at(1, number).unwrap().is_ok()));
    assert_eq!(cluster.status(1).snapshot, before, "it is being written");
    let applied = cluster.status(1).applied;
    let saved = cluster.write_aside(1);
    cluster.nodes.get_mut(&1).unwrap().finish_snapshot(saved);
    cluster.run(1);
    let snapshot = cluster.status(1).snapshot;
    assert!(snapshot > before && snapshot < applied, "{snapshot:?} of {applied:?}");
    cluster.kill(1);
    cluster.start(1);
    cluster.run(5);
    cluster.assert_all_know(&(0..40).collect::<Vec<_>>());
}

#[test]
fn a_crash_before_a_snapshot_takes_effect_loses_nothing() {
    let mut cluster = slow_writer();
    let before = cluster.status(1).snapshot;
    (0..20).for_each(|number| assert!(cluster.propose_at(1, number).unwrap().is_ok()));
    drop(cluster.write_aside(1));
    cluster.cut_power(1);
    cluster.start(1);
    cluster.run(5);
    assert_eq!(cluster.status(1).snapshot, before);
    cluster.assert_all_know(&(0..20).collect::<Vec<_>>());
}
