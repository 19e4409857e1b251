//! Test data and helpers of this crate's tests.

use crate::disk::Disk;
use crate::disk::memory::MemDisk;
use crate::entry::{Entry, HardState, Index, Term};
use crate::error::Error;
use crate::options::Options;
use crate::recover::Recovered;
use crate::snapshot::Snapshot;
use crate::wal::Wal;
use std::borrow::Cow;

/// Segments that a few entries fill, and memory for two or three entries.
pub(crate) const SMALL: Options = Options { segment_bytes: 512, salt: 0x5a17, memory_bytes: 50 };

/// An entry whose payload has its index and term.
pub(crate) fn entry(index: u64, term: u64) -> Entry {
    let payload = format!("entry {index} of term {term}").into_bytes();
    Entry { index: Index(index), term: Term(term), payload }
}

pub(crate) fn entries(range: std::ops::RangeInclusive<u64>, term: u64) -> Vec<Entry> {
    range.map(|index| entry(index, term)).collect()
}

pub(crate) fn hard_state(commit: u64) -> HardState {
    HardState { commit: Index(commit), payload: format!("vote at {commit}").into_bytes() }
}

pub(crate) fn snapshot(index: u64, term: u64) -> Snapshot {
    let payload = format!("state as of {index}").into_bytes();
    Snapshot { index: Index(index), term: Term(term), payload }
}

pub(crate) fn open(disk: &MemDisk) -> (Wal<MemDisk>, Recovered) {
    Wal::open(disk.clone(), SMALL).unwrap()
}

/// The error of a refused start.
pub(crate) fn open_error(disk: &MemDisk) -> Error {
    match Wal::open(disk.clone(), SMALL) {
        Ok(_) => panic!("the log was opened"),
        Err(error) => error,
    }
}

/// A log on a new disk with these entries, one record each, all synced.
pub(crate) fn filled(range: std::ops::RangeInclusive<u64>) -> (MemDisk, Wal<MemDisk>) {
    let disk = MemDisk::new();
    let (mut wal, _) = open(&disk);
    for index in range {
        wal.append(vec![entry(index, 1)], Some(hard_state(index))).unwrap();
        wal.sync().unwrap();
    }
    (disk, wal)
}

/// All entries of the log as (index, term); checks that each payload is its own.
pub(crate) fn entry_ids(wal: &Wal<MemDisk>) -> Vec<(u64, u64)> {
    let all = wal.entries(wal.first_index(), wal.last_index().next(), u64::MAX).unwrap();
    let pair = |found: &Cow<'_, Entry>| {
        let (index, term) = (found.index.0, found.term.0);
        assert_eq!(found.as_ref(), &entry(index, term));
        (index, term)
    };
    all.iter().map(pair).collect()
}

/// The files with this prefix.
pub(crate) fn files(disk: &MemDisk, prefix: &str) -> Vec<String> {
    let all = disk.list().unwrap();
    all.into_iter().filter(|name| name.starts_with(prefix)).collect()
}

/// A crash that loses everything not synced.
pub(crate) fn lose_all(disk: &MemDisk) {
    disk.crash(&mut |_| 0);
}

/// A crash that keeps all names and all writes.
pub(crate) fn lose_nothing(disk: &MemDisk) {
    disk.crash(&mut |below| if below == 4 { 1 } else { below - 1 });
}
