//! Tests of the log without restarts: appends, refusals, compaction, failures.

use super::*;
use crate::disk::memory::MemDisk;
use crate::entry::Term;
use crate::test_data::{
    entries, entry, entry_ids, files, filled, hard_state, lose_all, open, snapshot,
};

#[test]
fn a_new_log_is_empty_and_begins_at_one() {
    let (wal, recovered) = open(&MemDisk::new());
    assert_eq!(recovered.hard_state, None);
    assert_eq!((recovered.first_index, recovered.last_index), (Index(1), Index(0)));
    assert_eq!(wal.term(Index(0)).unwrap(), Term(0));
    assert!(wal.entries(Index(1), Index(1), 100).unwrap().is_empty());
}

#[test]
fn appended_entries_read_back_before_and_after_the_sync() {
    let (mut wal, _) = open(&MemDisk::new());
    wal.append(entries(1..=3, 4), Some(hard_state(2))).unwrap();
    assert_eq!(entry_ids(&wal), [(1, 4), (2, 4), (3, 4)]);
    wal.sync().unwrap();
    assert_eq!(wal.hard_state(), Some(&hard_state(2)));
    assert_eq!(wal.term(Index(3)).unwrap(), Term(4));
}

#[test]
fn a_read_stops_at_the_byte_limit_but_gives_at_least_one() {
    let (mut wal, _) = open(&MemDisk::new());
    wal.append(entries(1..=5, 1), None).unwrap();
    let one = entry(1, 1).payload.len() as u64;
    let count = |bytes_max| wal.entries(Index(1), Index(6), bytes_max).unwrap().len();
    assert_eq!(count(0), 1);
    assert_eq!(count(2 * one), 2);
    assert_eq!(count(3 * one - 1), 2);
    assert_eq!(count(u64::MAX), 5);
}

#[test]
fn reads_outside_the_log_report_its_range() {
    let (_, mut wal) = filled(1..=6);
    wal.save_snapshot(&snapshot(4, 1)).unwrap();
    wal.compact(Index(4)).unwrap();
    let error = wal.entries(Index(4), Index(6), 100).unwrap_err();
    assert!(matches!(error, Error::Compacted { index: Index(4), first: Index(5) }));
    let error = wal.entries(Index(5), Index(8), 100).unwrap_err();
    assert!(matches!(error, Error::Unavailable { index: Index(7), last: Index(6) }));
    assert_eq!(wal.term(Index(4)).unwrap(), Term(1), "raft asks for the term before the first");
    wal.term(Index(3)).unwrap_err();
}

#[test]
fn a_conflicting_suffix_is_replaced() {
    let disk = MemDisk::new();
    let (mut wal, _) = open(&disk);
    wal.append(entries(1..=5, 1), Some(hard_state(2))).unwrap();
    wal.append(entries(3..=4, 2), None).unwrap();
    wal.sync().unwrap();
    let expected = [(1, 1), (2, 1), (3, 2), (4, 2)];
    assert_eq!(entry_ids(&wal), expected);
    drop(wal);
    assert_eq!(entry_ids(&open(&disk).0), expected);
}

#[test]
fn invalid_appends_are_refused_and_change_nothing() {
    let (_, mut wal) = filled(1..=3);
    let cases = [
        (vec![entry(5, 1)], None, "gap"),
        (vec![entry(3, 2)], None, "committed"),
        (vec![entry(4, 1), entry(6, 1)], None, "not consecutive"),
        (vec![entry(4, 1)], Some(hard_state(5)), "above the last entry"),
        (vec![], Some(hard_state(2)), "below 3"),
    ];
    for (entries, hard_state, words) in cases {
        let error = wal.append(entries, hard_state).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }));
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(entry_ids(&wal).len(), 3);
    wal.append(vec![entry(4, 1)], None).unwrap();
}

#[test]
fn one_sync_covers_entries_and_hard_state() {
    let disk = MemDisk::new();
    let (mut wal, _) = open(&disk);
    wal.append(entries(1..=2, 1), Some(hard_state(1))).unwrap();
    disk.fail_sync_after(1);
    wal.sync().unwrap();
    lose_all(&disk);
    let (wal, recovered) = open(&disk);
    assert_eq!(entry_ids(&wal), [(1, 1), (2, 1)]);
    assert_eq!(recovered.hard_state, Some(hard_state(1)));
}

#[test]
fn a_failed_sync_closes_the_log() {
    let (disk, mut wal) = filled(1..=2);
    wal.append(vec![entry(3, 1)], None).unwrap();
    disk.fail_sync_after(0);
    assert!(matches!(wal.sync().unwrap_err(), Error::Io { .. }));
    let poisoned = |result: Result<()>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
        assert!(error.to_string().contains("simulated disk failure"), "{error}");
    };
    poisoned(wal.sync());
    poisoned(wal.append(vec![entry(4, 1)], None));
    poisoned(wal.entries(Index(1), Index(2), 9).map(drop));
    poisoned(wal.term(Index(1)).map(drop));
    poisoned(wal.save_snapshot(&snapshot(1, 1)));
    poisoned(wal.close());
}

#[test]
fn a_failed_write_closes_the_log() {
    let (disk, mut wal) = filled(1..=2);
    disk.fail_write_after(0);
    assert!(matches!(wal.append(vec![entry(3, 1)], None).unwrap_err(), Error::Io { .. }));
    assert!(matches!(wal.sync().unwrap_err(), Error::Poisoned { .. }));
    drop(wal);
    disk.restart();
    assert_eq!(entry_ids(&open(&disk).0).len(), 2);
}

#[test]
fn a_full_disk_refuses_a_new_segment_and_works_again_with_space() {
    let (disk, mut wal) = filled(1..=2);
    disk.set_capacity_bytes(Some(disk.used_bytes()));
    let mut next = 3;
    let error = loop {
        match wal.append(vec![entry(next, 1)], None) {
            Ok(()) => next += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert!(next > 5, "the spare segment was not used");
    assert_eq!(wal.last_index(), Index(next - 1));
    disk.set_capacity_bytes(None);
    wal.append(vec![entry(next, 1)], None).unwrap();
    wal.sync().unwrap();
    lose_all(&disk);
    assert_eq!(entry_ids(&open(&disk).0).len() as u64, next);
}

#[test]
fn a_full_disk_refuses_a_snapshot_and_keeps_no_part_of_it() {
    let (disk, mut wal) = filled(1..=2);
    disk.set_capacity_bytes(Some(disk.used_bytes()));
    let error = wal.save_snapshot(&snapshot(2, 1)).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert!(files(&disk, "snapshot").is_empty() && files(&disk, "aside").is_empty());
    wal.append(vec![entry(3, 1)], None).unwrap();
}

#[test]
fn compaction_recycles_segments_instead_of_growing() {
    let (disk, mut wal) = filled(1..=20);
    wal.save_snapshot(&snapshot(20, 1)).unwrap();
    wal.compact(Index(20)).unwrap();
    let settled = disk.used_bytes();
    for round in 1..20 {
        let range = round * 20 + 1..=(round + 1) * 20;
        for index in range.clone() {
            wal.append(vec![entry(index, 1)], Some(hard_state(index))).unwrap();
            wal.sync().unwrap();
        }
        wal.save_snapshot(&snapshot(*range.end(), 1)).unwrap();
        wal.compact(Index(*range.end())).unwrap();
    }
    let growth = disk.used_bytes().saturating_sub(settled);
    assert!(growth <= 512, "{growth} bytes more after 19 rounds");
    assert_eq!(files(&disk, "snapshot").len(), 2, "the last two are kept");
    drop(wal);
    let (wal, recovered) = open(&disk);
    assert_eq!(recovered.snapshot, Some(snapshot(400, 1)));
    assert_eq!((wal.first_index(), wal.last_index()), (Index(401), Index(400)));
    assert_eq!(wal.term(Index(400)).unwrap(), Term(1));
}

#[test]
fn only_entries_covered_by_a_snapshot_are_compacted() {
    let (_, mut wal) = filled(1..=4);
    assert!(matches!(wal.compact(Index(1)).unwrap_err(), Error::Refused { .. }));
    wal.save_snapshot(&snapshot(2, 1)).unwrap();
    assert!(matches!(wal.compact(Index(3)).unwrap_err(), Error::Refused { .. }));
    wal.compact(Index(2)).unwrap();
    wal.compact(Index(1)).unwrap();
    assert_eq!(entry_ids(&wal), [(3, 1), (4, 1)]);
}

#[test]
fn a_snapshot_must_be_of_an_entry_in_the_log_and_newer() {
    let (_, mut wal) = filled(1..=4);
    for wrong in [snapshot(5, 1), snapshot(3, 2)] {
        assert!(matches!(wal.save_snapshot(&wrong).unwrap_err(), Error::Refused { .. }));
    }
    wal.save_snapshot(&snapshot(3, 1)).unwrap();
    for old in [snapshot(2, 1), snapshot(3, 1)] {
        assert!(matches!(wal.save_snapshot(&old).unwrap_err(), Error::Refused { .. }));
    }
    assert_eq!(wal.snapshot().unwrap(), Some(snapshot(3, 1)));
}

#[test]
fn an_installed_snapshot_restarts_the_log() {
    let (disk, mut wal) = filled(1..=30);
    assert!(files(&disk, "log-").len() > 2);
    wal.install_snapshot(&snapshot(100, 3)).unwrap();
    assert_eq!((wal.first_index(), wal.last_index()), (Index(101), Index(100)));
    assert_eq!(wal.hard_state().unwrap().commit, Index(100));
    assert_eq!(files(&disk, "log-").len(), 1, "old entries are removed, whatever their index");
    wal.append(vec![entry(101, 3)], Some(hard_state(101))).unwrap();
    wal.sync().unwrap();
    lose_all(&disk);
    let (wal, recovered) = open(&disk);
    assert_eq!(entry_ids(&wal), [(101, 3)]);
    assert_eq!(recovered.snapshot, Some(snapshot(100, 3)));
    assert_eq!(recovered.hard_state, Some(hard_state(101)));
}

#[test]
fn an_installed_snapshot_frees_even_an_old_end_of_the_log_above_it() {
    let disk = MemDisk::new();
    let (mut wal, _) = open(&disk);
    for index in 1..=30 {
        wal.append(vec![entry(index, 1)], None).unwrap();
    }
    wal.sync().unwrap();
    // Once directly, once by the start that completes an install.
    wal.install_snapshot(&snapshot(10, 2)).unwrap();
    assert_eq!(files(&disk, "log-").len(), 1);
    for index in 11..=40 {
        wal.append(vec![entry(index, 2)], None).unwrap();
    }
    wal.sync().unwrap();
    disk.fail_sync_after(2);
    wal.install_snapshot(&snapshot(20, 3)).unwrap_err();
    disk.restart();
    let (wal, _) = open(&disk);
    assert_eq!(files(&disk, "log-").len(), 1);
    assert_eq!((wal.first_index(), wal.last_index()), (Index(21), Index(20)));
}

#[test]
fn entries_covered_by_a_snapshot_cannot_be_replaced() {
    let disk = MemDisk::new();
    let (mut wal, _) = open(&disk);
    wal.append(entries(1..=5, 1), None).unwrap();
    wal.save_snapshot(&snapshot(3, 1)).unwrap();
    let error = wal.append(vec![entry(3, 2)], None).unwrap_err();
    assert!(error.to_string().contains("committed"), "{error}");
    wal.append(vec![entry(4, 2)], None).unwrap();
}

#[test]
fn a_snapshot_below_the_commit_index_is_not_installed() {
    let (_, mut wal) = filled(1..=5);
    for known in [snapshot(4, 1), snapshot(5, 1)] {
        assert!(matches!(wal.install_snapshot(&known).unwrap_err(), Error::Refused { .. }));
    }
    assert_eq!(entry_ids(&wal).len(), 5);
}

#[test]
fn an_entry_larger_than_a_segment_gets_one_of_its_own_size() {
    let (disk, mut wal) = filled(1..=2);
    let payload = vec![7; 5000];
    wal.append(vec![Entry { index: Index(3), term: Term(1), payload: payload.clone() }], None)
        .unwrap();
    wal.append(vec![entry(4, 1)], None).unwrap();
    wal.sync().unwrap();
    lose_all(&disk);
    let (mut wal, _) = open(&disk);
    assert_eq!(wal.entries(Index(3), Index(4), 0).unwrap()[0].payload, payload);
    wal.append(vec![entry(5, 1)], Some(hard_state(5))).unwrap();
    wal.save_snapshot(&snapshot(5, 1)).unwrap();
    wal.compact(Index(5)).unwrap();
    assert!(disk.used_bytes() < 3000, "the oversized file was kept as a spare");
}

#[test]
fn two_logs_cannot_share_a_directory() {
    let disk = MemDisk::new();
    let first = open(&disk);
    let error = Wal::open(disk.clone(), Options::default()).err().unwrap();
    assert!(matches!(error, Error::Locked { .. }));
    assert!(error.to_string().contains("stop the other kantctld"), "{error}");
    drop(first);
    open(&disk);
}

#[test]
fn an_invalid_segment_size_is_refused() {
    for segment_bytes in [0, 511, 1001, 1 << 40] {
        let options = Options { segment_bytes, ..Options::default() };
        let error = Wal::open(MemDisk::new(), options).err().unwrap();
        assert!(matches!(error, Error::SegmentSize { .. }));
    }
}

#[test]
fn the_segment_size_may_change_between_starts() {
    let (disk, _) = filled(1..=20);
    let options = Options { segment_bytes: 1024, salt: 9, memory_bytes: 200 };
    let (mut wal, _) = Wal::open(disk.clone(), options).unwrap();
    for index in 21..=60 {
        wal.append(vec![entry(index, 1)], None).unwrap();
    }
    wal.sync().unwrap();
    drop(wal);
    assert_eq!(entry_ids(&open(&disk).0).len(), 60);
}
