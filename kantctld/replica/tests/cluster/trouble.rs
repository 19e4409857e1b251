//! Disks that are full, empty, foreign or damaged; letters that do not read.

use crate::house::{Adder, House, member};
use common::id::ClusterId;
use replica::{Beginning, LogError, Opening, ProposeError, Replica, Settled, StoreError, Told};
use wal::MemDisk;

fn open(disk: &MemDisk, opening: &Opening) -> Result<(), StoreError> {
    match Replica::<Adder, MemDisk, u32>::open(disk.clone(), opening, Adder::default()) {
        Ok(_) => Ok(()),
        Err(LogError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_full_disk_acknowledges_nothing_and_loses_nothing() {
    let mut house = House::found();
    house.disks[&1].set_capacity_bytes(Some(house.disks[&1].used_bytes()));
    let mut number = 0;
    let ticket = loop {
        let ticket = house.ticket();
        let lone = house.nodes.get_mut(&1).unwrap();
        lone.propose(vec![(number, ticket)]);
        match lone.settle().unwrap() {
            Settled::Done => number += 1,
            Settled::Sending => panic!("a lone controller has nobody to send to"),
            Settled::DiskFull(_) => break ticket,
        }
    };
    house.run(5);
    assert!(!house.answers.contains_key(&ticket), "it is not on the disk");
    let busy = house.propose_at(1, 99);
    assert_eq!(busy, Some(Err(ProposeError::Busy)));
    house.disks[&1].set_capacity_bytes(None);
    house.run(1);
    assert!(matches!(house.answers[&ticket], Ok(Told::Applied(_))));
    house.assert_all_know(&(0..=number).collect::<Vec<_>>());
}

#[test]
fn another_leads_while_the_leaders_disk_is_full() {
    let mut house = House::of(3);
    house.disks[&1].set_capacity_bytes(Some(house.disks[&1].used_bytes()));
    let mut last = Some(Ok(Told::Applied(0)));
    let mut number = 0;
    while last.is_some() && number < 10_000 {
        number += 1;
        last = house.propose_at(1, number);
        if matches!(last, Some(Err(_))) {
            break;
        }
    }
    house.run(60);
    let leader = house.leader();
    assert_ne!(leader, 1);
    assert!(matches!(house.propose_at(leader, 1), Some(Ok(_))));
    house.disks[&1].set_capacity_bytes(None);
    house.run(30);
    let known = house.numbers(leader).to_vec();
    house.assert_all_know(&known);
}

#[test]
fn an_empty_directory_begins_nothing_unasked() {
    let house = House::found();
    let error = open(&MemDisk::new(), &house.opening(1, Beginning::None)).unwrap_err();
    assert!(matches!(error, StoreError::Empty { .. }), "{error}");
    assert!(error.to_string().contains("nothing is left"), "{error}");
}

#[test]
fn the_log_of_another_cluster_is_not_opened() {
    let mut house = House::found();
    house.kill(1);
    let opening = Opening { cluster: Some(ClusterId(0xbeef)), ..house.opening(1, Beginning::None) };
    let error = open(&house.disks[&1], &opening).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(
        error.to_string().split(": ").last(),
        Some("it is of cluster 000000000000cafe, not 000000000000beef")
    );
}

#[test]
fn founding_where_a_log_is_goes_on_with_it() {
    let mut house = House::found();
    house.propose_at(1, 5);
    house.kill(1);
    house.open(1, Beginning::Found(member(1)));
    house.run(1);
    house.assert_all_know(&[5]);
}

#[test]
fn letters_that_do_not_read_or_are_for_others_change_nothing() {
    let mut house = House::of(3);
    let before = house.status(2);
    for letter in [&b""[..], b"\xff\xff\xff", &[0x0a; 4000], b"hello"] {
        house.nodes.get_mut(&2).unwrap().step(letter).unwrap();
    }
    assert_eq!(house.status(2), before);
    assert!(matches!(house.propose_at(1, 5), Some(Ok(_))));
    house.assert_all_know(&[5]);
}

#[test]
fn a_saved_cluster_goes_on_with_one_voter_and_where_a_log_is_it_is_not_restored() {
    let state: Vec<u8> = [5_u64, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
    let restore = || Beginning::Restore { member: member(9), state: state.clone() };
    let mut house = House::found();
    let opening = house.opening(9, restore());
    let error = open(&house.disks[&1].clone(), &opening).unwrap_err();
    assert!(matches!(error, StoreError::Wal(wal::Error::Locked { .. })), "{error}");
    house.kill(1);
    let error = open(&house.disks[&1].clone(), &opening).unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }), "{error}");
    house.open(9, restore());
    house.run(2);
    assert_eq!(house.propose_at(9, 7), Some(Ok(Told::Applied(18))));
    assert_eq!(house.numbers(9), [5, 6, 7]);
}
