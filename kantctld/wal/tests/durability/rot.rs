//! Tests of one flipped bit anywhere: the start is refused, or finds exactly what was written.

use proptest::prelude::*;
use wal::{Disk, Entry, Error, HardState, Index, MemDisk, Snapshot, Term, Wal};

use crate::model::{Memory, OPTIONS, Payloads, remembered};

/// A log with entries one by one, each synced, and with snapshots and compactions. Returns its
/// expected content at the end, and one record before.
fn history(disk: &MemDisk, sizes: &[usize], is_clean: bool) -> (Memory, Memory) {
    let (mut wal, _) = Wal::open(disk.clone(), OPTIONS).expect("a new log opens");
    let mut payloads = Payloads::default();
    let mut now = Memory::default();
    let mut before = now.clone();
    for (index, &size_bytes) in (1u64..).zip(sizes) {
        let term = Term(1 + index / 10);
        let entry = Entry { index: Index(index), term, payload: payloads.draw(size_bytes) };
        let hard = HardState { commit: Index(index), payload: payloads.draw(8) };
        before = now.clone();
        now.append(std::slice::from_ref(&entry), Some(&hard));
        wal.append(vec![entry], Some(hard)).expect("the log takes entries");
        wal.sync().expect("the log syncs");
        if index % 12 == 0 {
            let snapshot = Snapshot { index: Index(index), term, payload: payloads.draw(50) };
            wal.save_snapshot(&snapshot).expect("the log takes snapshots");
            now.snapshot = Some(snapshot);
        }
        if index % 16 == 0 {
            before = now.clone();
            now.compact(index - 10);
            wal.compact(Index(index - 10)).expect("the log compacts");
        }
    }
    if is_clean {
        wal.close().expect("the log closes");
        before = now.clone();
    }
    before.snapshot.clone_from(&now.snapshot);
    (now.after_start(), before.after_start())
}

/// Whether the file can matter at all.
fn is_read(name: &str) -> bool {
    name.starts_with("log-") || name.starts_with("snapshot-")
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_flipped_bit_is_refused_or_harmless(
        sizes in proptest::collection::vec(0usize..200, 5..50),
        is_clean in any::<bool>(),
        file in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
        bit in 0u8..8,
    ) {
        let disk = MemDisk::new();
        let (now, before) = history(&disk, &sizes, is_clean);
        let names: Vec<String> =
            disk.list().expect("lists").into_iter().filter(|name| is_read(name)).collect();
        let name = file.get(&names);
        let length = disk.content(name).expect("it was listed").len();
        disk.corrupt_byte(name, at.index(length) as u64, |byte| *byte ^= 1 << bit);

        match Wal::open(disk.clone(), OPTIONS) {
            Err(Error::Corrupt { file, .. }) => prop_assert!(file.ends_with(name.as_str())),
            // The last, unwitnessed record was removed, and something else shows that it is
            // missing.
            Err(Error::Incomplete { .. }) => prop_assert!(!is_clean),
            Err(other) => prop_assert!(false, "unexpected: {other}"),
            Ok((wal, recovered)) => {
                let mut found = remembered(&wal, &recovered);
                if recovered.damaged_snapshot.is_some() {
                    prop_assert!(name.starts_with("snapshot-"));
                    prop_assert!(found.snapshot_index() < now.snapshot_index());
                    found.snapshot.clone_from(&now.snapshot);
                }
                prop_assert!(
                    found == now || found == before,
                    "found {found:#?}, wrote {now:#?}"
                );
            }
        }
    }
}
