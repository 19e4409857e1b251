//! Tests of online changes of members.

use crate::test_cluster::{TestCluster, member};
use common::id::ControllerId;
use replica::{Change, ChangeRefusal, Completion, Member, ProposeError};

fn refused<A>(why: ChangeRefusal) -> Result<Completion<A>, ProposeError> {
    Err(ProposeError::Change(why))
}

#[test]
fn a_cluster_grows_from_one_to_five_and_shrinks_to_three() {
    let mut cluster = TestCluster::of(5);
    cluster.propose_at(1, 5);
    let both = [Change::Remove(ControllerId(4)), Change::Remove(ControllerId(5))];
    assert_eq!(cluster.change(&both), Ok(Completion::Changed(None)));
    cluster.run(20);
    let members = cluster.status(1).members;
    assert_eq!((members.voters.as_slice(), members.is_joint()), (&[1, 2, 3][..], false));
    assert_eq!(members.known.len(), 3, "removed members are forgotten");
    for gone in [4, 5] {
        cluster.kill(gone);
    }
    assert_eq!(cluster.propose_at(1, 6), Some(Ok(Completion::Applied(11))));
    cluster.assert_all_know(&[5, 6]);
}

#[test]
fn an_id_is_not_reused() {
    let mut cluster = TestCluster::of(2);
    assert!(cluster.change(&[Change::Remove(ControllerId(2))]).is_ok());
    cluster.run(10);
    let again = cluster.change(&[Change::Add(member(9))]);
    assert_eq!(again, Ok(Completion::Changed(Some(ControllerId(3)))));
}

#[test]
fn a_dead_member_is_replaced_at_its_address_in_one_change_or_not_at_all() {
    let mut cluster = TestCluster::of(3);
    cluster.kill(3);
    let dead = Change::Remove(ControllerId(3));
    let taken = ChangeRefusal::AddressTaken { id: ControllerId(2), address: "c2:7600".to_owned() };
    assert_eq!(cluster.change(&[dead.clone(), Change::Add(member(2))]), refused(taken));
    assert!(cluster.status(1).members.has(ControllerId(3)), "no member was removed");
    let given = cluster.change(&[dead, Change::Add(member(3))]);
    assert_eq!(given, Ok(Completion::Changed(Some(ControllerId(4)))));
    cluster.open(4, replica::Bootstrap::Join);
    cluster.run(40);
    let members = cluster.status(1).members;
    assert_eq!((members.voters.as_slice(), members.is_joint()), (&[1, 2, 4][..], false));
    assert_eq!(members.known[&ControllerId(4)].address, "c3:7600");
}

#[test]
fn members_are_known_after_a_restart_of_all_and_from_a_snapshot() {
    let mut cluster = TestCluster::of(3);
    let moved = Change::Move { id: ControllerId(2), address: "elsewhere:1".to_owned() };
    assert_eq!(cluster.change(&[moved]), Ok(Completion::Changed(None)));
    let before = cluster.status(1).members;
    assert_eq!(before.known[&ControllerId(2)].address, "elsewhere:1");
    assert!(before.votes(ControllerId(2)), "a new address changes no vote");
    for id in [1, 2, 3] {
        cluster.cut_power(id);
    }
    cluster.snapshot_every = 1;
    (1..=3).for_each(|id| cluster.start(id));
    cluster.run(40);
    let leader = cluster.leader();
    cluster.propose_at(leader, 5);
    assert_eq!(cluster.status(2).members, before);
    cluster.kill(2);
    cluster.start(2);
    assert_eq!(cluster.status(2).members, before, "from its snapshot");
}

#[test]
fn an_invalid_change_is_refused_with_its_reason() {
    let mut cluster = TestCluster::of(2);
    let id = ControllerId;
    assert_eq!(cluster.change(&[]), refused(ChangeRefusal::Nothing));
    assert_eq!(cluster.change(&[Change::Remove(id(9))]), refused(ChangeRefusal::Unknown(id(9))));
    assert_eq!(cluster.change(&[Change::Promote(id(2))]), refused(ChangeRefusal::Votes(id(2))));
    assert_eq!(cluster.change(&[Change::Remove(id(1))]), refused(ChangeRefusal::Leads(id(1))));
    let all = [Change::Remove(id(2)), Change::Remove(id(1))];
    assert_eq!(cluster.change(&all), refused(ChangeRefusal::LastVoter(id(1))));
    let address = "c2:7600".to_owned();
    let taken = ChangeRefusal::AddressTaken { id: id(2), address };
    assert_eq!(cluster.change(&[Change::Add(member(2))]), refused(taken));
}

#[test]
fn a_learner_stays_one_until_it_is_promoted() {
    let mut cluster = TestCluster::found();
    let listener = Member { becomes_voter: false, ..member(2) };
    assert!(cluster.change(&[Change::Add(listener)]).is_ok());
    cluster.open(2, replica::Bootstrap::Join);
    cluster.run(30);
    assert!(cluster.status(1).members.learns(ControllerId(2)));
    cluster.propose_at(1, 5);
    cluster.assert_all_know(&[5]);
    assert_eq!(cluster.change(&[Change::Promote(ControllerId(2))]), Ok(Completion::Changed(None)));
    assert_eq!(cluster.status(2).members.voters, [1, 2]);
}

#[test]
fn a_learner_that_lacks_much_is_not_promoted() {
    let mut cluster = TestCluster::found();
    let listener = Member { becomes_voter: true, ..member(2) };
    assert!(cluster.change(&[Change::Add(listener)]).is_ok());
    for number in 0..200 {
        cluster.propose_at(1, number);
    }
    cluster.run(30);
    assert!(cluster.status(1).members.learns(ControllerId(2)), "it never answered");
    let result = cluster.change(&[Change::Promote(ControllerId(2))]);
    assert!(
        matches!(result, Err(ProposeError::Change(ChangeRefusal::Behind { .. }))),
        "{result:?}"
    );
}

#[test]
fn a_change_by_a_leader_that_lost_leadership_is_not_in_force() {
    let mut cluster = TestCluster::of(3);
    cluster.isolate(1);
    let ticket = cluster.ticket();
    cluster.nodes.get_mut(&1).unwrap().change(&[Change::Add(member(4))], ticket);
    cluster.run(60);
    assert_eq!(cluster.answers[&ticket], Err(ProposeError::Unknown));
    cluster.heal();
    cluster.run(20);
    for id in 1..=3 {
        assert_eq!(cluster.status(id).members.known.len(), 3, "controller {id}");
    }
}

#[test]
fn a_controller_elected_with_its_own_removal_in_its_log_steps_down() {
    let mut cluster = TestCluster::of(3);
    // Only the second gets the entry that removes it, and its acknowledgement is lost.
    cluster.cut.extend([(1, 3), (2, 1)]);
    let ticket = cluster.ticket();
    cluster.nodes.get_mut(&1).unwrap().change(&[Change::Remove(ControllerId(2))], ticket);
    cluster.run(1);
    cluster.heal();
    cluster.isolate(1);
    while cluster.status(2).members.voters.contains(&2) {
        cluster.run(1);
    }
    cluster.heal();
    cluster.run(60);
    let leader = cluster.leader();
    assert_eq!(cluster.status(leader).members.voters, [1, 3]);
    assert_eq!(cluster.propose_at(leader, 7), Some(Ok(Completion::Applied(7))), "{leader} leads");
    assert!(!cluster.nodes[&2].leads());
}
