//! A part of a log that was synced is lost, and nothing on its own disk tells: another's letters
//! do. Never a panic, and never a vote after that.

use crate::house::House;
use replica::{LogError, Loss, Told};
use wal::Disk as _;

/// A bit turns in the last record of a log, and the controller starts again: on its own it cannot
/// tell that from a write that a crash cut short.
fn lose_the_last_record(house: &mut House, id: u64) {
    house.kill(id);
    let disk = house.disks[&id].clone();
    let mut names = disk.list().unwrap();
    names.retain(|name| name.starts_with("log-"));
    let newest = names.iter().max().unwrap();
    let content = disk.content(newest).unwrap();
    let end = content.iter().rposition(|byte| *byte != 0).unwrap();
    disk.rot(newest, end as u64, |byte| *byte ^= 1);
    house.start(id);
}

fn loss(house: &House, id: u64) -> Option<&Loss> {
    match house.ends.get(&id) {
        Some(LogError::Lost(loss)) => Some(loss),
        Some(other) => panic!("{other}"),
        None => None,
    }
}

#[test]
fn a_follower_whose_last_entry_rotted_learns_it_from_the_leader_and_stops() {
    let mut house = House::of(3);
    house.propose_at(1, 5);
    house.run(5);
    let held = house.status(3).last.0;
    // Records of how much is decided may stand behind the one with the entry.
    while house.status(3).last.0 == held {
        lose_the_last_record(&mut house, 3);
    }
    house.run(3);
    assert_eq!(loss(&house, 3), Some(&Loss::End { held, last: held - 1 }));
    let text = house.ends[&3].to_string();
    assert!(text.contains("kantctld rebuild"), "{text}");
    assert_eq!(house.propose_at(1, 6), Some(Ok(Told::Applied(11))), "the others go on");
}

#[test]
fn a_leader_that_rots_and_is_elected_again_meets_its_own_past_and_one_of_the_two_stops() {
    let mut house = House::of(3);
    house.propose_at(1, 5);
    house.run(5);
    // 3 lacks what 1 and 2 decided; then 1 loses it too, and 2 is away.
    house.isolate(3);
    house.propose_at(1, 6);
    let held = house.status(1).last.0;
    house.isolate(2);
    while house.status(1).last.0 == held {
        lose_the_last_record(&mut house, 1);
    }
    house.cut.retain(|pair| *pair == (1, 2) || *pair == (2, 1) || pair.0 == 2 || pair.1 == 2);
    house.run(80);
    let leader = house.leader();
    assert_ne!(leader, 2);
    house.propose_at(leader, 7);
    house.heal();
    house.run(80);
    assert_eq!(loss(&house, 2), Some(&Loss::Other { index: held }), "{:?}", house.ends);
    assert!(matches!(house.propose_at(leader, 8), Some(Ok(Told::Applied(_)))));
}
