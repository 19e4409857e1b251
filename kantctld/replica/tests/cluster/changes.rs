//! Members come and go while the cluster runs.

use crate::house::{House, member};
use common::id::ControllerId;
use replica::{Change, ChangeRefusal, Member, ProposeError, Told};

fn refused<A>(why: ChangeRefusal) -> Result<Told<A>, ProposeError> {
    Err(ProposeError::Change(why))
}

#[test]
fn a_cluster_grows_from_one_to_five_and_shrinks_to_three() {
    let mut house = House::of(5);
    house.propose_at(1, 5);
    let both = [Change::Remove(ControllerId(4)), Change::Remove(ControllerId(5))];
    assert_eq!(house.change(&both), Ok(Told::Changed(None)));
    house.run(20);
    let members = house.status(1).members;
    assert_eq!((members.voters.as_slice(), members.is_joint()), (&[1, 2, 3][..], false));
    assert_eq!(members.known.len(), 3, "those who left are forgotten");
    for gone in [4, 5] {
        house.kill(gone);
    }
    assert_eq!(house.propose_at(1, 6), Some(Ok(Told::Applied(11))));
    house.assert_all_know(&[5, 6]);
}

#[test]
fn an_id_is_never_given_twice() {
    let mut house = House::of(2);
    assert!(house.change(&[Change::Remove(ControllerId(2))]).is_ok());
    house.run(10);
    let again = house.change(&[Change::Add(member(9))]);
    assert_eq!(again, Ok(Told::Changed(Some(ControllerId(3)))));
}

#[test]
fn one_takes_the_place_and_the_address_of_a_dead_one_in_one_change_or_not_at_all() {
    let mut house = House::of(3);
    house.kill(3);
    let dead = Change::Remove(ControllerId(3));
    let taken = ChangeRefusal::AddressTaken { id: ControllerId(2), address: "c2:7600".to_owned() };
    assert_eq!(house.change(&[dead.clone(), Change::Add(member(2))]), refused(taken));
    assert!(house.status(1).members.has(ControllerId(3)), "and nobody was removed");
    let given = house.change(&[dead, Change::Add(member(3))]);
    assert_eq!(given, Ok(Told::Changed(Some(ControllerId(4)))));
    house.open(4, replica::Beginning::Join);
    house.run(40);
    let members = house.status(1).members;
    assert_eq!((members.voters.as_slice(), members.is_joint()), (&[1, 2, 4][..], false));
    assert_eq!(members.known[&ControllerId(4)].address, "c3:7600");
}

#[test]
fn members_are_known_after_a_restart_of_all_and_from_a_snapshot() {
    let mut house = House::of(3);
    let moved = Change::Move { id: ControllerId(2), address: "elsewhere:1".to_owned() };
    assert_eq!(house.change(&[moved]), Ok(Told::Changed(None)));
    let before = house.status(1).members;
    assert_eq!(before.known[&ControllerId(2)].address, "elsewhere:1");
    assert!(before.votes(ControllerId(2)), "a new address changes nobody's vote");
    for id in [1, 2, 3] {
        house.cut_power(id);
    }
    house.snapshot_every = 1;
    (1..=3).for_each(|id| house.start(id));
    house.run(40);
    let leader = house.leader();
    house.propose_at(leader, 5);
    assert_eq!(house.status(2).members, before);
    house.kill(2);
    house.start(2);
    assert_eq!(house.status(2).members, before, "now from its snapshot");
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let mut house = House::of(2);
    let id = ControllerId;
    assert_eq!(house.change(&[]), refused(ChangeRefusal::Nothing));
    assert_eq!(house.change(&[Change::Remove(id(9))]), refused(ChangeRefusal::Unknown(id(9))));
    assert_eq!(house.change(&[Change::Promote(id(2))]), refused(ChangeRefusal::Votes(id(2))));
    assert_eq!(house.change(&[Change::Remove(id(1))]), refused(ChangeRefusal::Leads(id(1))));
    let all = [Change::Remove(id(2)), Change::Remove(id(1))];
    assert_eq!(house.change(&all), refused(ChangeRefusal::LastVoter(id(1))));
    let address = "c2:7600".to_owned();
    let taken = ChangeRefusal::AddressTaken { id: id(2), address };
    assert_eq!(house.change(&[Change::Add(member(2))]), refused(taken));
}

#[test]
fn a_learner_that_only_listens_stays_one_and_is_promoted_when_told() {
    let mut house = House::found();
    let listener = Member { becomes_voter: false, ..member(2) };
    assert!(house.change(&[Change::Add(listener)]).is_ok());
    house.open(2, replica::Beginning::Join);
    house.run(30);
    assert!(house.status(1).members.learns(ControllerId(2)));
    house.propose_at(1, 5);
    house.assert_all_know(&[5]);
    assert_eq!(house.change(&[Change::Promote(ControllerId(2))]), Ok(Told::Changed(None)));
    assert_eq!(house.status(2).members.voters, [1, 2]);
}

#[test]
fn a_learner_that_lacks_much_is_not_promoted() {
    let mut house = House::found();
    let listener = Member { becomes_voter: true, ..member(2) };
    assert!(house.change(&[Change::Add(listener)]).is_ok());
    for number in 0..200 {
        house.propose_at(1, number);
    }
    house.run(30);
    assert!(house.status(1).members.learns(ControllerId(2)), "it never said a word");
    let told = house.change(&[Change::Promote(ControllerId(2))]);
    assert!(matches!(told, Err(ProposeError::Change(ChangeRefusal::Behind { .. }))), "{told:?}");
}

#[test]
fn a_change_by_a_leader_that_lost_the_lead_is_not_in_force() {
    let mut house = House::of(3);
    house.isolate(1);
    let ticket = house.ticket();
    house.nodes.get_mut(&1).unwrap().change(&[Change::Add(member(4))], ticket);
    house.run(60);
    assert_eq!(house.answers[&ticket], Err(ProposeError::Unknown));
    house.heal();
    house.run(20);
    for id in 1..=3 {
        assert_eq!(house.status(id).members.known.len(), 3, "controller {id}");
    }
}

#[test]
fn a_controller_that_comes_to_lead_with_its_own_removal_in_its_log_gives_way() {
    let mut house = House::of(3);
    // The second alone gets the entry that removes it, and nobody hears that it has it.
    house.cut.extend([(1, 3), (2, 1)]);
    let ticket = house.ticket();
    house.nodes.get_mut(&1).unwrap().change(&[Change::Remove(ControllerId(2))], ticket);
    house.run(1);
    house.heal();
    house.isolate(1);
    while house.status(2).members.voters.contains(&2) {
        house.run(1);
    }
    house.heal();
    house.run(60);
    let leader = house.leader();
    assert_eq!(house.status(leader).members.voters, [1, 3]);
    assert_eq!(house.propose_at(leader, 7), Some(Ok(Told::Applied(7))), "{leader} leads");
    assert!(!house.nodes[&2].leads());
}
