//! Those far behind, or new, get a snapshot.

use crate::house::House;
use replica::Told;
use std::collections::BTreeMap;

#[test]
fn a_new_controller_is_caught_up_by_a_snapshot_where_the_log_was_cut() {
    let mut house = House::found();
    house.snapshot_every = 10;
    house.kill(1);
    house.start(1);
    house.run(1);
    for number in 0..50 {
        house.propose_at(1, number);
    }
    assert!(house.status(1).snapshot.0 >= 40);
    house.join(2);
    house.run(30);
    let known: Vec<u64> = (0..50).collect();
    house.assert_all_know(&known);
    assert_eq!(house.status(1).members.voters, [1, 2]);
    house.cut_power(2);
    house.start(2);
    house.run(30);
    house.assert_all_know(&known);
}

#[test]
fn a_follower_that_missed_the_cut_part_of_the_log_catches_up_by_a_snapshot() {
    let mut house = House::of(3);
    house.snapshot_every = 10;
    for id in 1..=3 {
        house.kill(id);
    }
    (1..=3).for_each(|id| house.start(id));
    house.run(40);
    let leader = house.leader();
    let away = if leader == 3 { 2 } else { 3 };
    house.kill(away);
    for number in 0..60 {
        let answer = house.propose_at(leader, number);
        assert!(matches!(answer, Some(Ok(Told::Applied(_)))), "{answer:?}");
    }
    house.start(away);
    house.run(30);
    house.assert_all_know(&(0..60).collect::<Vec<_>>());
    assert!(house.status(away).snapshot.0 >= 40, "it came by snapshot");
    assert!(house.propose_at(leader, 60).is_some());
    house.assert_all_know(&(0..=60).collect::<Vec<_>>());
}

#[test]
fn a_snapshot_that_is_lost_on_its_way_is_sent_again() {
    let mut house = House::found();
    house.snapshot_every = 5;
    house.kill(1);
    house.start(1);
    house.run(1);
    for number in 0..30 {
        house.propose_at(1, number);
    }
    house.join(2);
    house.isolate(2);
    house.run(10);
    assert_eq!(house.numbers(2), [0_u64; 0]);
    house.heal();
    house.run(30);
    house.assert_all_know(&(0..30).collect::<Vec<_>>());
}

#[test]
fn few_large_entries_bring_a_snapshot_about_and_a_large_state_does_so_less_often() {
    let mut house = House::found();
    house.snapshot_bytes_min = 8 * 100;
    house.kill(1);
    house.start(1);
    house.run(1);
    let mut taken = vec![house.status(1).snapshot.0];
    let mut number = 0;
    for _ in 0..100 {
        // Eight bytes each, in the entry as in the snapshot.
        let batch: Vec<(u64, u32)> = (0..20).map(|_| (0, house.ticket())).collect();
        number += 20;
        house.nodes.get_mut(&1).unwrap().propose(batch);
        house.run(1);
        let snapshot = house.status(1).snapshot.0;
        if taken.last() != Some(&snapshot) {
            taken.push(snapshot);
        }
    }
    assert_eq!(house.numbers(1).len(), number);
    let apart: Vec<u64> = taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // At first more than 100 numbers, with two entries of elections; then more than the last one.
    assert_eq!(apart, [8, 7, 14, 28]);
}

#[test]
fn a_replica_that_starts_counts_what_it_replays_towards_the_next_snapshot() {
    let mut house = House::found();
    house.snapshot_bytes_min = 8 * 30;
    house.kill(1);
    house.start(1);
    house.run(1);
    let before = house.status(1).snapshot;
    for number in 0..30 {
        house.propose_at(1, number);
        if number % 6 == 0 {
            house.kill(1);
            house.start(1);
            house.run(1);
        }
    }
    assert_eq!(house.status(1).snapshot, before);
    house.propose_at(1, 30);
    assert!(house.status(1).snapshot > before, "the 31st number counts with those before");
    assert_eq!(house.numbers(1), (0..31).collect::<Vec<_>>());
}

/// A lone controller that takes a snapshot every 10 entries, and is long about writing it.
fn slow_writer() -> House {
    let mut house = House::found();
    (house.snapshot_every, house.under_way) = (10, Some(BTreeMap::new()));
    house.kill(1);
    house.start(1);
    house.run(1);
    house
}

#[test]
fn entries_are_decided_while_a_snapshot_is_written_and_it_is_of_those_before() {
    let mut house = slow_writer();
    let before = house.status(1).snapshot;
    (0..40).for_each(|number| assert!(house.propose_at(1, number).unwrap().is_ok()));
    assert_eq!(house.status(1).snapshot, before, "it is being written");
    let applied = house.status(1).applied;
    let saved = house.write_aside(1);
    house.nodes.get_mut(&1).unwrap().note_saved(saved);
    house.run(1);
    let snapshot = house.status(1).snapshot;
    assert!(snapshot > before && snapshot < applied, "{snapshot:?} of {applied:?}");
    house.kill(1);
    house.start(1);
    house.run(5);
    house.assert_all_know(&(0..40).collect::<Vec<_>>());
}

#[test]
fn a_process_that_dies_before_its_snapshot_counts_loses_nothing() {
    let mut house = slow_writer();
    let before = house.status(1).snapshot;
    (0..20).for_each(|number| assert!(house.propose_at(1, number).unwrap().is_ok()));
    drop(house.write_aside(1));
    house.cut_power(1);
    house.start(1);
    house.run(5);
    assert_eq!(house.status(1).snapshot, before);
    house.assert_all_know(&(0..20).collect::<Vec<_>>());
}
