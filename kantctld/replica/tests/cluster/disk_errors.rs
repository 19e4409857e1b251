//! Tests of full, empty, foreign and damaged disks, and of invalid messages.

use crate::test_cluster::{Adder, TestCluster, member};
use common::id::ClusterId;
use replica::{
    Bootstrap, Completion, LogError, ProposeError, Replica, ReplicaConfig, Settled, StoreError,
};
use wal::MemDisk;

fn open(disk: &MemDisk, replica_config: &ReplicaConfig) -> Result<(), StoreError> {
    match Replica::<Adder, MemDisk, u32>::open(disk.clone(), replica_config, Adder::default()) {
        Ok(_) => Ok(()),
        Err(LogError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_full_disk_acknowledges_nothing_and_loses_nothing() {
    let mut cluster = TestCluster::found();
    cluster.disks[&1].set_capacity_bytes(Some(cluster.disks[&1].used_bytes()));
    let mut number = 0;
    let ticket = loop {
        let ticket = cluster.ticket();
        let lone = cluster.nodes.get_mut(&1).unwrap();
        lone.propose(vec![(number, ticket)]);
        match lone.process_ready().unwrap() {
            Settled::Done => number += 1,
            Settled::Sending => panic!("a single controller has no peers"),
            Settled::DiskFull(_) => break ticket,
        }
    };
    cluster.run(5);
    assert!(!cluster.answers.contains_key(&ticket), "it is not on the disk");
    let busy = cluster.propose_at(1, 99);
    assert_eq!(busy, Some(Err(ProposeError::Busy)));
    cluster.disks[&1].set_capacity_bytes(None);
    cluster.run(1);
    assert!(matches!(cluster.answers[&ticket], Ok(Completion::Applied(_))));
    cluster.assert_all_know(&(0..=number).collect::<Vec<_>>());
}

#[test]
fn another_controller_leads_while_the_leaders_disk_is_full() {
    let mut cluster = TestCluster::of(3);
    cluster.disks[&1].set_capacity_bytes(Some(cluster.disks[&1].used_bytes()));
    let mut last = Some(Ok(Completion::Applied(0)));
    let mut number = 0;
    while last.is_some() && number < 10_000 {
        number += 1;
        last = cluster.propose_at(1, number);
        if matches!(last, Some(Err(_))) {
            break;
        }
    }
    cluster.run(60);
    let leader = cluster.leader();
    assert_ne!(leader, 1);
    assert!(matches!(cluster.propose_at(leader, 1), Some(Ok(_))));
    cluster.disks[&1].set_capacity_bytes(None);
    cluster.run(30);
    let known = cluster.numbers(leader).to_vec();
    cluster.assert_all_know(&known);
}

#[test]
fn an_empty_directory_is_not_used_unless_requested() {
    let cluster = TestCluster::found();
    let error = open(&MemDisk::new(), &cluster.replica_config(1, Bootstrap::None)).unwrap_err();
    assert!(matches!(error, StoreError::Empty { .. }), "{error}");
    assert!(error.to_string().contains("is missing"), "{error}");
}

#[test]
fn the_log_of_another_cluster_is_not_opened() {
    let mut cluster = TestCluster::found();
    cluster.kill(1);
    let replica_config =
        ReplicaConfig { cluster: ClusterId(0xbeef), ..cluster.replica_config(1, Bootstrap::None) };
    let error = open(&cluster.disks[&1], &replica_config).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(
        error.to_string().split(": ").last(),
        Some("it belongs to cluster 000000000000cafe, not 000000000000beef")
    );
}

#[test]
fn founding_continues_with_an_existing_log() {
    let mut cluster = TestCluster::found();
    cluster.propose_at(1, 5);
    cluster.kill(1);
    cluster.open(1, Bootstrap::Found(member(1)));
    cluster.run(1);
    cluster.assert_all_know(&[5]);
}

#[test]
fn invalid_and_misrouted_messages_change_nothing() {
    let mut cluster = TestCluster::of(3);
    let before = cluster.status(2);
    for message in [&b""[..], b"\xff\xff\xff", &[0x0a; 4000], b"hello"] {
        cluster.nodes.get_mut(&2).unwrap().step(message).unwrap();
    }
    assert_eq!(cluster.status(2), before);
    assert!(matches!(cluster.propose_at(1, 5), Some(Ok(_))));
    cluster.assert_all_know(&[5]);
}

#[test]
fn a_restored_cluster_continues_with_one_voter_and_an_existing_log_is_not_replaced() {
    let state: Vec<u8> = [5_u64, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
    let restore = || Bootstrap::Restore { member: member(9), state: state.clone() };
    let mut cluster = TestCluster::found();
    let replica_config = cluster.replica_config(9, restore());
    let error = open(&cluster.disks[&1].clone(), &replica_config).unwrap_err();
    assert!(matches!(error, StoreError::Wal(wal::Error::Locked { .. })), "{error}");
    cluster.kill(1);
    let error = open(&cluster.disks[&1].clone(), &replica_config).unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }), "{error}");
    cluster.open(9, restore());
    cluster.run(2);
    assert_eq!(cluster.propose_at(9, 7), Some(Ok(Completion::Applied(18))));
    assert_eq!(cluster.numbers(9), [5, 6, 7]);
}
