//! Tests of a lost part of a log that was synced. Its own disk does not show the loss, but messages
//! of other members do. The replica must stop, without a panic and without another vote.

use crate::test_cluster::TestCluster;
use replica::{Completion, LogError, Loss};
use wal::Disk as _;

/// Flips a bit in the last record of a log and restarts the controller, which cannot tell this from
/// an interrupted write.
fn lose_the_last_record(cluster: &mut TestCluster, id: u64) {
    cluster.kill(id);
    let disk = cluster.disks[&id].clone();
    let mut names = disk.list().unwrap();
    names.retain(|name| name.starts_with("log-"));
    let newest = names.iter().max().unwrap();
    let content = disk.content(newest).unwrap();
    let end = content.iter().rposition(|byte| *byte != 0).unwrap();
    disk.corrupt_byte(newest, end as u64, |byte| *byte ^= 1);
    cluster.start(id);
}

fn loss(cluster: &TestCluster, id: u64) -> Option<&Loss> {
    match cluster.ends.get(&id) {
        Some(LogError::Lost(loss)) => Some(loss),
        Some(other) => panic!("{other}"),
        None => None,
    }
}

#[test]
fn a_follower_whose_last_entry_is_damaged_learns_it_from_the_leader_and_stops() {
    let mut cluster = TestCluster::of(3);
    cluster.propose_at(1, 5);
    cluster.run(5);
    let held = cluster.status(3).last.0;
    // Records of the commit index may follow the record with the entry.
    while cluster.status(3).last.0 == held {
        lose_the_last_record(&mut cluster, 3);
    }
    cluster.run(3);
    assert_eq!(loss(&cluster, 3), Some(&Loss::End { held, last: held - 1 }));
    let text = cluster.ends[&3].to_string();
    assert!(text.contains("kantctld rebuild"), "{text}");
    assert_eq!(cluster.propose_at(1, 6), Some(Ok(Completion::Applied(11))), "the others continue");
}

#[test]
fn a_damaged_leader_that_is_elected_again_finds_the_contradiction_and_one_of_the_two_stops() {
    let mut cluster = TestCluster::of(3);
    cluster.propose_at(1, 5);
    cluster.run(5);
    // 3 lacks what 1 and 2 committed; then 1 loses it too, and 2 is isolated.
    cluster.isolate(3);
    cluster.propose_at(1, 6);
    let held = cluster.status(1).last.0;
    cluster.isolate(2);
    while cluster.status(1).last.0 == held {
        lose_the_last_record(&mut cluster, 1);
    }
    cluster.cut.retain(|pair| *pair == (1, 2) || *pair == (2, 1) || pair.0 == 2 || pair.1 == 2);
    cluster.run(80);
    let leader = cluster.leader();
    assert_ne!(leader, 2);
    cluster.propose_at(leader, 7);
    cluster.heal();
    cluster.run(80);
    assert_eq!(loss(&cluster, 2), Some(&Loss::Other { index: held }), "{:?}", cluster.ends);
    assert!(matches!(cluster.propose_at(leader, 8), Some(Ok(Completion::Applied(_)))));
}
