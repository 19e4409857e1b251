//! Who leads, and what becomes of those who asked somebody who does no more.

use crate::house::{House, member};
use replica::{Change, Member, ProposeError, Role, Settled, Told};

#[test]
fn a_lone_controller_leads_at_once_and_knows_all_after_a_power_cut() {
    let mut house = House::found();
    assert!(house.nodes[&1].machine().leading);
    assert_eq!(house.propose_at(1, 5), Some(Ok(Told::Applied(5))));
    assert_eq!(house.propose_at(1, 6), Some(Ok(Told::Applied(11))));
    house.cut_power(1);
    house.start(1);
    house.run(1);
    house.assert_all_know(&[5, 6]);
    assert!(house.nodes[&1].leads());
}

#[test]
fn what_was_acknowledged_survives_the_leader() {
    let mut house = House::of(3);
    assert_eq!(house.propose_at(1, 5), Some(Ok(Told::Applied(5))));
    house.kill(1);
    house.run(40);
    let leader = house.leader();
    assert_eq!(house.propose_at(leader, 6), Some(Ok(Told::Applied(11))));
    house.start(1);
    house.run(10);
    house.assert_all_know(&[5, 6]);
    assert_eq!(house.status(1).role, Role::Follower);
}

#[test]
fn a_follower_takes_nothing_and_names_the_leader() {
    let mut house = House::of(3);
    assert_eq!(house.propose_at(2, 5), Some(Err(ProposeError::NotLeader)));
    assert_eq!(house.read_at(2), Some(Err(ProposeError::NotLeader)));
    assert_eq!(house.status(2).leader.map(|id| id.0), Some(1));
}

#[test]
fn a_leader_that_is_cut_off_acknowledges_nothing_and_steps_down() {
    let mut house = House::of(3);
    house.isolate(1);
    let answer = house.propose_at(1, 5);
    assert_eq!(answer, None, "no majority has it");
    let stale = house.read_at(1);
    assert_eq!(stale, None, "it cannot know whether it still leads");
    house.run(40);
    assert_eq!(house.status(1).role, Role::Follower);
    let unknown: Vec<_> = house.answers.values().filter(|a| a.is_err()).collect();
    assert_eq!(unknown, [&Err(ProposeError::Unknown), &Err(ProposeError::Unknown)]);
    let leader = house.leader();
    assert_ne!(leader, 1);
    assert_eq!(house.propose_at(leader, 6), Some(Ok(Told::Applied(6))));
    house.heal();
    house.run(10);
    house.assert_all_know(&[6]);
}

#[test]
fn a_follower_that_was_cut_off_does_not_depose_the_leader_when_it_returns() {
    let mut house = House::of(3);
    let term = house.status(1).term;
    house.isolate(3);
    house.run(200);
    house.heal();
    house.run(20);
    assert_eq!((house.leader(), house.status(1).term), (1, term), "pre-vote asks first");
}

#[test]
fn a_read_is_fresh_only_where_everything_acknowledged_before_is_applied() {
    let mut house = House::of(3);
    house.propose_at(1, 5);
    assert_eq!(house.read_at(1), Some(Ok(Told::Fresh)));
    assert_eq!(house.numbers(1), [5]);
}

#[test]
fn the_lead_is_handed_over_within_a_few_letters() {
    let mut house = House::of(3);
    house.propose_at(1, 5);
    let handed = house.nodes.get_mut(&1).unwrap().transfer(None);
    assert!(handed);
    house.run(1);
    assert_ne!(house.leader(), 1);
    assert!(!house.nodes[&1].machine().leading);
    let leader = house.leader();
    assert_eq!(house.propose_at(leader, 6), Some(Ok(Told::Applied(11))));
}

#[test]
fn the_lead_is_handed_to_nobody_who_does_not_vote() {
    let mut house = House::found();
    let lone = house.nodes.get_mut(&1).unwrap();
    assert!(!lone.transfer(None), "nobody else is there");
    assert!(!lone.transfer(Some(common::id::ControllerId(9))));
    assert!(lone.leads());
}

#[test]
fn equal_seeds_give_equal_histories() {
    let history = || {
        let mut house = House::of(3);
        let mut told = Vec::new();
        for turn in 0..6 {
            let leader = house.leader();
            told.push((leader, house.status(leader).term, house.propose_at(leader, turn)));
            house.kill(leader);
            house.run(40);
            house.start(leader);
            house.run(5);
        }
        (told, house.status(1), house.status(2), house.status(3))
    };
    assert_eq!(history(), history());
}

#[test]
fn entries_go_to_the_others_before_the_leaders_own_sync_and_outlive_its_power() {
    let mut house = House::of(3);
    let ticket = house.ticket();
    let leader = house.nodes.get_mut(&1).unwrap();
    leader.propose(vec![(5, ticket)]);
    assert_eq!(leader.settle().unwrap(), Settled::Sending);
    let letters = leader.take_outbox().letters;
    let to: Vec<u64> = letters.iter().map(|letter| letter.to.0).collect();
    assert_eq!(to, [2, 3], "before the entry is on its own disk");
    house.cut_power(1);
    for letter in letters {
        house.nodes.get_mut(&letter.to.0).unwrap().step(&letter.bytes).unwrap();
    }
    house.run(60);
    house.start(1);
    house.run(20);
    house.assert_all_know(&[5]);
    assert!(!house.answers.contains_key(&ticket), "nobody was there to answer");
}

#[test]
fn a_new_term_is_on_the_leaders_disk_before_anybody_hears_of_it() {
    let mut house = House::found();
    let listener = Member { becomes_voter: false, ..member(2) };
    assert!(house.change(&[Change::Add(listener)]).is_ok());
    house.open(2, replica::Beginning::Join);
    house.run(20);
    house.kill(1);
    house.start(1);
    // A lone voter elects itself at once, and writes to who listens.
    let ticket = house.ticket();
    let lone = house.nodes.get_mut(&1).unwrap();
    assert_eq!(lone.settle().unwrap(), Settled::Done);
    let term = lone.status().term;
    lone.propose(vec![(5, ticket)]);
    house.cut_power(1);
    house.start(1);
    assert!(house.status(1).term > term, "it knew that term, and stood in another");
    house.run(20);
    house.assert_all_know(&[]);
}
