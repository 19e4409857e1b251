//! Tests of elections and leadership, and of requests whose leader steps down.

use crate::test_cluster::{TestCluster, member};
use replica::{Change, Completion, Member, ProposeError, Role, Settled};

#[test]
fn a_single_controller_leads_at_once_and_knows_everything_after_a_power_failure() {
    let mut cluster = TestCluster::found();
    assert!(cluster.nodes[&1].machine().leading);
    assert_eq!(cluster.propose_at(1, 5), Some(Ok(Completion::Applied(5))));
    assert_eq!(cluster.propose_at(1, 6), Some(Ok(Completion::Applied(11))));
    cluster.cut_power(1);
    cluster.start(1);
    cluster.run(1);
    cluster.assert_all_know(&[5, 6]);
    assert!(cluster.nodes[&1].leads());
}

#[test]
fn acknowledged_commands_survive_the_leader() {
    let mut cluster = TestCluster::of(3);
    assert_eq!(cluster.propose_at(1, 5), Some(Ok(Completion::Applied(5))));
    cluster.kill(1);
    cluster.run(40);
    let leader = cluster.leader();
    assert_eq!(cluster.propose_at(leader, 6), Some(Ok(Completion::Applied(11))));
    cluster.start(1);
    cluster.run(10);
    cluster.assert_all_know(&[5, 6]);
    assert_eq!(cluster.status(1).role, Role::Follower);
}

#[test]
fn a_follower_refuses_requests_and_names_the_leader() {
    let mut cluster = TestCluster::of(3);
    assert_eq!(cluster.propose_at(2, 5), Some(Err(ProposeError::NotLeader)));
    assert_eq!(cluster.read_at(2), Some(Err(ProposeError::NotLeader)));
    assert_eq!(cluster.status(2).leader.map(|id| id.0), Some(1));
}

#[test]
fn an_isolated_leader_acknowledges_nothing_and_steps_down() {
    let mut cluster = TestCluster::of(3);
    cluster.isolate(1);
    let answer = cluster.propose_at(1, 5);
    assert_eq!(answer, None, "no majority has it");
    let stale = cluster.read_at(1);
    assert_eq!(stale, None, "it cannot know whether it still leads");
    cluster.run(40);
    assert_eq!(cluster.status(1).role, Role::Follower);
    let unknown: Vec<_> = cluster.answers.values().filter(|a| a.is_err()).collect();
    assert_eq!(unknown, [&Err(ProposeError::Unknown), &Err(ProposeError::Unknown)]);
    let leader = cluster.leader();
    assert_ne!(leader, 1);
    assert_eq!(cluster.propose_at(leader, 6), Some(Ok(Completion::Applied(6))));
    cluster.heal();
    cluster.run(10);
    cluster.assert_all_know(&[6]);
}

#[test]
fn an_isolated_follower_does_not_depose_the_leader_when_it_returns() {
    let mut cluster = TestCluster::of(3);
    let term = cluster.status(1).term;
    cluster.isolate(3);
    cluster.run(200);
    cluster.heal();
    cluster.run(20);
    assert_eq!((cluster.leader(), cluster.status(1).term), (1, term), "pre-vote prevents it");
}

#[test]
fn a_read_is_fresh_only_once_everything_acknowledged_before_is_applied() {
    let mut cluster = TestCluster::of(3);
    cluster.propose_at(1, 5);
    assert_eq!(cluster.read_at(1), Some(Ok(Completion::Fresh)));
    assert_eq!(cluster.numbers(1), [5]);
}

#[test]
fn leadership_is_transferred_within_a_few_messages() {
    let mut cluster = TestCluster::of(3);
    cluster.propose_at(1, 5);
    let handed = cluster.nodes.get_mut(&1).unwrap().transfer(None);
    assert!(handed);
    cluster.run(1);
    assert_ne!(cluster.leader(), 1);
    assert!(!cluster.nodes[&1].machine().leading);
    let leader = cluster.leader();
    assert_eq!(cluster.propose_at(leader, 6), Some(Ok(Completion::Applied(11))));
}

#[test]
fn leadership_is_transferred_only_to_a_voter() {
    let mut cluster = TestCluster::found();
    let lone = cluster.nodes.get_mut(&1).unwrap();
    assert!(!lone.transfer(None), "there is no other member");
    assert!(!lone.transfer(Some(common::id::ControllerId(9))));
    assert!(lone.leads());
}

#[test]
fn equal_seeds_give_equal_histories() {
    let history = || {
        let mut cluster = TestCluster::of(3);
        let mut outcomes = Vec::new();
        for turn in 0..6 {
            let leader = cluster.leader();
            outcomes.push((leader, cluster.status(leader).term, cluster.propose_at(leader, turn)));
            cluster.kill(leader);
            cluster.run(40);
            cluster.start(leader);
            cluster.run(5);
        }
        (outcomes, cluster.status(1), cluster.status(2), cluster.status(3))
    };
    assert_eq!(history(), history());
}

#[test]
fn entries_are_sent_before_the_leaders_own_sync_and_survive_its_power_failure() {
    let mut cluster = TestCluster::of(3);
    let ticket = cluster.ticket();
    let leader = cluster.nodes.get_mut(&1).unwrap();
    leader.propose(vec![(5, ticket)]);
    assert_eq!(leader.process_ready().unwrap(), Settled::Sending);
    let messages = leader.take_outbox().messages;
    let to: Vec<u64> = messages.iter().map(|message| message.to.0).collect();
    assert_eq!(to, [2, 3], "before the entry is on its own disk");
    cluster.cut_power(1);
    for message in messages {
        cluster.nodes.get_mut(&message.to.0).unwrap().step(&message.bytes).unwrap();
    }
    cluster.run(60);
    cluster.start(1);
    cluster.run(20);
    cluster.assert_all_know(&[5]);
    assert!(!cluster.answers.contains_key(&ticket), "the leader was gone");
}

#[test]
fn a_new_term_is_on_the_leaders_disk_before_it_sends_messages() {
    let mut cluster = TestCluster::found();
    let listener = Member { becomes_voter: false, ..member(2) };
    assert!(cluster.change(&[Change::Add(listener)]).is_ok());
    cluster.open(2, replica::Bootstrap::Join);
    cluster.run(20);
    cluster.kill(1);
    cluster.start(1);
    // A single voter elects itself at once, and writes to the learner.
    let ticket = cluster.ticket();
    let lone = cluster.nodes.get_mut(&1).unwrap();
    assert_eq!(lone.process_ready().unwrap(), Settled::Done);
    let term = lone.status().term;
    lone.propose(vec![(5, ticket)]);
    cluster.cut_power(1);
    cluster.start(1);
    assert!(cluster.status(1).term > term, "it remembered that term, and used a new one");
    cluster.run(20);
    cluster.assert_all_know(&[]);
}
