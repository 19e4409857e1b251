//! Tests of the comparison of states: a replica whose state differs from that of most others stops.

use crate::test_cluster::TestCluster;
use replica::{Completion, LogError};

/// Three replicas, of which one takes a number for another one.
fn differing(id: u64) -> TestCluster {
    let mut cluster = TestCluster::of(3);
    cluster.kill(id);
    cluster.misreads = Some((id, 7));
    cluster.start(id);
    cluster.run(60);
    cluster
}

/// Proposes enough numbers for a comparison. Returns at which entry the replica was found out.
fn found_out(cluster: &mut TestCluster, id: u64) -> Option<u64> {
    for number in 0..20 {
        if cluster.ends.is_empty() {
            let leader = cluster.leader();
            cluster.propose_at(leader, number);
            cluster.run(2);
        }
    }
    match cluster.ends.get(&id) {
        Some(LogError::Differs { index }) => Some(*index),
        Some(other) => panic!("{other}"),
        None => None,
    }
}

#[test]
fn replicas_with_the_same_state_go_on() {
    let mut cluster = TestCluster::of(3);
    assert_eq!(found_out(&mut cluster, 1), None);
    let sums = [1, 2, 3].map(|id| cluster.status(id).sum);
    assert!(sums[0].is_some() && sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

#[test]
fn a_follower_whose_state_differs_stops_and_says_after_which_entry() {
    let mut cluster = differing(3);
    let index = found_out(&mut cluster, 3).unwrap();
    assert!(index.is_multiple_of(8));
    let text = cluster.ends[&3].to_string();
    assert!(text.contains(&format!("entry {index}")) && text.contains("rebuild"), "{text}");
    assert_eq!(cluster.ends.len(), 1, "the others go on");
}

#[test]
fn a_leader_whose_state_differs_stops_and_another_leads() {
    let mut cluster = differing(3);
    cluster.nodes.get_mut(&1).unwrap().transfer(Some(common::id::ControllerId(3)));
    cluster.run(5);
    assert_eq!(cluster.leader(), 3);
    assert!(found_out(&mut cluster, 3).is_some());
    cluster.run(60);
    let leader = cluster.leader();
    assert_ne!(leader, 3);
    assert!(matches!(cluster.propose_at(leader, 5), Some(Ok(Completion::Applied(_)))));
}
