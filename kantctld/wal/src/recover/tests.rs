//! Tests of starts after crashes, which are repaired, and after damage, which is refused.

use super::*;
use crate::disk::memory::MemDisk;
use crate::test_data::*;

const FIRST: &str = "log-00000000000000000001";
const SECOND: &str = "log-00000000000000000002";

fn offset_of(disk: &MemDisk, name: &str, text: &str) -> u64 {
    let content = disk.content(name).unwrap();
    let at = content.windows(text.len()).position(|window| window == text.as_bytes());
    at.unwrap_or_else(|| panic!("{name} does not contain {text:?}")) as u64
}

fn rot(disk: &MemDisk, name: &str, text: &str) {
    disk.corrupt_byte(name, offset_of(disk, name, text), |byte| *byte ^= 0x10);
}

#[test]
fn synced_entries_survive_a_crash_and_unsynced_ones_do_not() {
    let (disk, mut wal) = filled(1..=3);
    wal.append(vec![entry(4, 1)], Some(hard_state(4))).unwrap();
    lose_all(&disk);
    let (wal, recovered) = open(&disk);
    assert_eq!(entry_ids(&wal), [(1, 1), (2, 1), (3, 1)]);
    assert_eq!(recovered.hard_state, Some(hard_state(3)));
    assert_eq!(recovered.torn, None);
}

#[test]
fn a_batch_survives_completely_or_not_at_all() {
    let (disk, mut wal) = filled(1..=2);
    wal.append(entries(3..=5, 1), Some(hard_state(5))).unwrap();
    disk.crash(&mut |below| match below {
        4 => 2,
        _ => below * 3 / 4,
    });
    let (wal, recovered) = open(&disk);
    assert_eq!(entry_ids(&wal), [(1, 1), (2, 1)]);
    assert_eq!(recovered.hard_state, Some(hard_state(2)));
    let torn = recovered.torn.expect("three quarters of a record are left");
    assert!(torn.file.ends_with(FIRST), "{torn}");
}

#[test]
fn records_after_a_torn_one_do_not_join_with_new_ones() {
    let (disk, mut wal) = filled(1..=2);
    wal.append(vec![entry(3, 1)], None).unwrap();
    wal.append(vec![entry(4, 1)], None).unwrap();
    // The first of the two is lost, the second survives.
    let mut answers = [0, 0, 1].into_iter();
    disk.crash(&mut |_| answers.next().unwrap_or(0));
    let (mut wal, _) = open(&disk);
    assert_eq!(wal.last_index(), Index(2));
    wal.append(vec![entry(3, 2)], None).unwrap();
    wal.sync().unwrap();
    lose_all(&disk);
    assert_eq!(entry_ids(&open(&disk).0), [(1, 1), (2, 1), (3, 2)]);
}

#[test]
fn writes_of_a_killed_process_are_made_durable_before_they_are_used() {
    let (disk, mut wal) = filled(1..=2);
    wal.append(vec![entry(3, 1)], None).unwrap();
    disk.restart();
    let (wal, _) = open(&disk);
    assert_eq!(wal.last_index(), Index(3));
    lose_all(&disk);
    assert_eq!(open(&disk).0.last_index(), Index(3));
}

#[test]
fn writes_only_in_the_page_cache_after_a_failed_sync_are_written_again() {
    let (disk, mut wal) = filled(1..=2);
    wal.append(vec![entry(3, 1)], None).unwrap();
    disk.fail_sync_after(0);
    wal.sync().unwrap_err();
    disk.restart();
    assert_eq!(open(&disk).0.last_index(), Index(3));
    lose_all(&disk);
    assert_eq!(open(&disk).0.last_index(), Index(3), "once used, it must be durable");
}

#[test]
fn names_that_are_not_durable_are_synced_before_the_log_builds_on_them() {
    let (disk, mut wal) = filled(1..=2);
    // The snapshot's content is synced, its name is not.
    disk.fail_sync_after(1);
    wal.install_snapshot(&snapshot(9, 2)).unwrap_err();
    disk.restart();
    drop(open(&disk));
    lose_all(&disk);
    assert_eq!(open(&disk).1.snapshot, Some(snapshot(9, 2)));
}

#[test]
fn a_spare_that_is_not_durable_is_filled_again() {
    let (disk, mut wal) = filled(1..=2);
    while files(&disk, "log-").len() < 2 {
        let next = wal.last_index().next();
        wal.append(vec![entry(next.0, 1)], None).unwrap();
    }
    wal.sync().unwrap();
    disk.fail_sync_after(0);
    wal.prepare_spare().unwrap_err();
    disk.restart();
    let (mut wal, _) = open(&disk);
    while files(&disk, "log-").len() < 3 {
        let next = wal.last_index().next();
        wal.append(vec![entry(next.0, 1)], None).unwrap();
    }
    wal.sync().unwrap();
    let last = wal.last_index();
    lose_all(&disk);
    assert_eq!(open(&disk).0.last_index(), last);
}

#[test]
fn damage_before_a_later_sync_is_refused_with_file_and_byte() {
    let (disk, _) = filled(1..=3);
    rot(&disk, FIRST, "entry 2 of");
    let error = open_error(&disk);
    let Error::Corrupt { file, offset, .. } = &error else { panic!("{error}") };
    assert!(file.ends_with(FIRST));
    let record_start = offset_of(&disk, FIRST, "of term 1") + 9;
    assert!(*offset > record_start && *offset < offset_of(&disk, FIRST, "entry 3 of"));
    assert!(error.to_string().contains("must not vote again"), "{error}");
}

#[test]
fn damage_in_an_earlier_segment_is_refused_even_at_its_end() {
    let (disk, wal) = filled(1..=20);
    let content = disk.content(SECOND).unwrap();
    let last_of_second = (1..=20)
        .rev()
        .find(|index| {
            let text = format!("entry {index} of");
            content.windows(text.len()).any(|window| window == text.as_bytes())
        })
        .unwrap();
    drop(wal);
    rot(&disk, SECOND, &format!("entry {last_of_second} of"));
    let error = open_error(&disk);
    assert!(matches!(&error, Error::Corrupt { file, .. } if file.ends_with(SECOND)), "{error}");
}

#[test]
fn damage_in_the_last_record_is_refused_after_a_clean_stop() {
    let (disk, wal) = filled(1..=3);
    wal.close().unwrap();
    rot(&disk, FIRST, "entry 3 of");
    assert!(matches!(open_error(&disk), Error::Corrupt { .. }));
}

#[test]
fn a_refused_start_changes_nothing() {
    let (disk, _) = filled(1..=3);
    rot(&disk, FIRST, "entry 2 of");
    let before = disk.content(FIRST);
    open_error(&disk);
    open_error(&disk);
    assert_eq!(disk.content(FIRST), before);
}

#[test]
fn a_missing_segment_is_detected_anywhere() {
    for missing in [FIRST, SECOND] {
        let (disk, _) = filled(1..=30);
        disk.remove(missing).unwrap();
        let error = open_error(&disk);
        assert!(matches!(error, Error::Incomplete { .. }), "{error}");
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

#[test]
fn snapshots_without_a_log_are_refused() {
    let (disk, mut wal) = filled(1..=3);
    wal.save_snapshot(&snapshot(3, 1)).unwrap();
    drop(wal);
    disk.remove(FIRST).unwrap();
    let error = open_error(&disk).to_string();
    assert!(error.contains("there are snapshots but no log segments"), "{error}");
}

#[test]
fn a_log_without_its_snapshot_is_refused() {
    let (disk, mut wal) = filled(1..=30);
    wal.save_snapshot(&snapshot(20, 1)).unwrap();
    wal.compact(Index(20)).unwrap();
    drop(wal);
    disk.remove(&file_names::snapshot(Index(20))).unwrap();
    let error = open_error(&disk).to_string();
    assert!(error.contains("no snapshot reaches that far"), "{error}");
}

#[test]
fn a_damaged_newest_snapshot_is_replaced_by_the_older_one_if_the_log_reaches_back() {
    let (disk, mut wal) = filled(1..=30);
    wal.save_snapshot(&snapshot(10, 1)).unwrap();
    wal.save_snapshot(&snapshot(20, 1)).unwrap();
    wal.compact(Index(10)).unwrap();
    drop(wal);
    rot(&disk, &file_names::snapshot(Index(20)), "state as of");
    let (mut wal, recovered) = open(&disk);
    assert_eq!(recovered.snapshot, Some(snapshot(10, 1)));
    assert!(recovered.damaged_snapshot.unwrap().contains("snapshot-00000000000000000020"));
    assert_eq!(recovered.first_index, Index(11));
    // The next snapshot removes the damaged one.
    wal.save_snapshot(&snapshot(25, 1)).unwrap();
    let left = files(&disk, "snapshot-");
    assert_eq!(left, [file_names::snapshot(Index(10)), file_names::snapshot(Index(25))]);
}

#[test]
fn a_damaged_newest_snapshot_is_refused_if_the_log_begins_after_the_older_one() {
    let (disk, mut wal) = filled(1..=30);
    wal.save_snapshot(&snapshot(10, 1)).unwrap();
    wal.save_snapshot(&snapshot(20, 1)).unwrap();
    wal.compact(Index(20)).unwrap();
    drop(wal);
    rot(&disk, &file_names::snapshot(Index(20)), "state as of");
    let error = open_error(&disk);
    assert!(matches!(&error, Error::Corrupt { file, .. } if file.contains("snapshot")), "{error}");
}

#[test]
fn an_incomplete_snapshot_is_removed() {
    let (disk, mut wal) = filled(1..=3);
    disk.fail_sync_after(0);
    wal.save_snapshot(&snapshot(3, 1)).unwrap_err();
    drop(wal);
    lose_nothing(&disk);
    let (wal, recovered) = open(&disk);
    assert_eq!(recovered.snapshot, None);
    assert_eq!(entry_ids(&wal).len(), 3);
    assert!(files(&disk, "snapshot").is_empty() && files(&disk, "aside").is_empty());
}

#[test]
fn an_interrupted_install_after_the_snapshot_is_completed() {
    let (disk, mut wal) = filled(1..=3);
    // Two syncs make the snapshot durable; the third one would have restarted the log.
    disk.fail_sync_after(2);
    wal.install_snapshot(&snapshot(50, 2)).unwrap_err();
    drop(wal);
    lose_all(&disk);
    for _ in 0..2 {
        let (wal, recovered) = open(&disk);
        assert_eq!(recovered.snapshot, Some(snapshot(50, 2)));
        assert_eq!((wal.first_index(), wal.last_index()), (Index(51), Index(50)));
        assert_eq!(recovered.hard_state.unwrap().commit, Index(50));
        drop(wal);
        lose_all(&disk);
    }
}

#[test]
fn an_unknown_segment_format_is_refused_with_the_remedy() {
    let (disk, _) = filled(1..=3);
    disk.corrupt_byte(FIRST, 8, |format| *format = 2);
    let turned = open_error(&disk);
    assert!(matches!(turned, Error::Corrupt { .. }), "a flipped bit is damage: {turned}");
    let head = disk.content(FIRST).unwrap();
    let crc = crate::segment::head_checksum(&head[..crate::segment::HEAD_BYTES as usize]);
    for (at, byte) in (12..).zip(crc.to_le_bytes()) {
        disk.corrupt_byte(FIRST, at, |kept| *kept = byte);
    }
    let error = open_error(&disk);
    assert!(matches!(error, Error::UnknownVersion { found: 2, known: 1, .. }));
    assert!(error.to_string().contains("start the kantctld release that wrote it"), "{error}");
}

#[test]
fn a_start_on_a_full_disk_succeeds() {
    let (disk, _) = filled(1..=3);
    let spares = files(&disk, "spare-");
    spares.iter().for_each(|spare| disk.remove(spare).unwrap());
    disk.set_capacity_bytes(Some(disk.used_bytes()));
    let (mut wal, _) = open(&disk);
    wal.append(vec![entry(4, 1)], None).unwrap();
    wal.sync().unwrap();
}
