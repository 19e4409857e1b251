//! Those far behind, or new, get a snapshot.

use crate::house::House;
use replica::Told;

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
