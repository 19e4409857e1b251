//! Tests of new and retired segments, and of crashes in between.

use crate::disk::memory::MemDisk;
use crate::entry::Index;
use crate::test_data::{
    entry, entry_ids, files, filled, hard_state, lose_all, lose_nothing, open, snapshot,
};

#[test]
fn a_full_segment_is_synced_before_the_next_begins() {
    let disk = MemDisk::new();
    let (mut wal, _) = open(&disk);
    let mut next = 1;
    while files(&disk, "log-").len() < 2 {
        wal.append(vec![entry(next, 1)], None).unwrap();
        next += 1;
    }
    lose_all(&disk);
    assert_eq!(
        entry_ids(&open(&disk).0).len() as u64,
        next - 2,
        "all but the last, which was unsynced"
    );
}

#[test]
fn every_segment_starts_with_the_hard_state_so_that_earlier_ones_are_unnecessary() {
    let (disk, mut wal) = filled(1..=3);
    for index in 4..=40 {
        wal.append(vec![entry(index, 1)], None).unwrap();
    }
    wal.save_snapshot(&snapshot(40, 1)).unwrap();
    wal.compact(Index(40)).unwrap();
    assert_eq!(files(&disk, "log-").len(), 1);
    lose_all(&disk);
    let (_, recovered) = open(&disk);
    let mut expected = hard_state(3);
    expected.commit = Index(40);
    assert_eq!(recovered.hard_state, Some(expected));
}

#[test]
fn a_crash_at_any_sync_while_segments_change_loses_nothing() {
    let work = |wal: &mut crate::Wal<MemDisk>, acknowledged: &mut u64| -> crate::Result<()> {
        for index in 41..=80 {
            wal.append(vec![entry(index, 1)], Some(hard_state(index)))?;
            wal.sync()?;
            *acknowledged = index;
            if index % 10 == 0 {
                wal.save_snapshot(&snapshot(index - 2, 1))?;
                wal.compact(Index(index - 4))?;
            }
        }
        Ok(())
    };
    let mut crashes = 0;
    for survivors in [lose_all, lose_nothing] {
        for syncs in 0.. {
            let (disk, mut wal) = filled(1..=40);
            let mut acknowledged = 40;
            disk.fail_sync_after(syncs);
            let done = work(&mut wal, &mut acknowledged).is_ok();
            drop(wal);
            survivors(&disk);
            let (wal, _) = open(&disk);
            assert!(wal.last_index() >= Index(acknowledged), "after {syncs} syncs");
            let held = entry_ids(&wal);
            assert_eq!(held.len() as u64, wal.last_index().0 + 1 - wal.first_index().0);
            crashes += 1;
            if done {
                break;
            }
        }
    }
    assert!(crashes > 100, "only {crashes} crashes were tried");
}
