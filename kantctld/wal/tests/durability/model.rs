//! A model of the expected content of a log, and its comparison with a real one.

use std::borrow::Cow;
use wal::{Entry, EntryId, HardState, Index, MemDisk, Options, Recovered, Snapshot, Term, Wal};

/// Small segments, so that a few records fill, recycle and free them.
pub const OPTIONS: Options = Options { segment_bytes: 1024, salt: 7, memory_bytes: 200 };

/// The content of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    pub base: EntryId,
    pub entries: Vec<Entry>,
    pub hard_state: Option<HardState>,
    pub snapshot: Option<Snapshot>,
}

impl Memory {
    pub fn last(&self) -> u64 {
        self.base.index.0 + self.entries.len() as u64
    }

    /// The content of a snapshot is committed, whatever the hard state says.
    pub fn commit(&self) -> u64 {
        let commit = self.hard_state.as_ref().map_or(0, |hard| hard.commit.0);
        commit.max(self.base.index.0).max(self.snapshot_index())
    }

    pub fn snapshot_index(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.index.0)
    }

    /// The term at an index, if the log has it.
    pub fn term(&self, index: u64) -> Option<Term> {
        if index == self.base.index.0 {
            return Some(self.base.term);
        }
        let slot = index.checked_sub(self.base.index.0 + 1)?;
        self.entries.get(slot as usize).map(|entry| entry.term)
    }

    pub fn append(&mut self, entries: &[Entry], hard_state: Option<&HardState>) {
        if let Some(first) = entries.first() {
            self.entries.retain(|entry| entry.index < first.index);
            self.entries.extend_from_slice(entries);
        }
        if let Some(hard) = hard_state {
            self.hard_state = Some(hard.clone());
        }
    }

    pub fn compact(&mut self, to: u64) {
        if let Some(term) = self.term(to) {
            self.entries.retain(|entry| entry.index.0 > to);
            self.base = EntryId { index: Index(to), term };
        }
    }

    pub fn reset(&mut self, to: EntryId) {
        self.entries.clear();
        self.base = to;
        self.raise_commit(to.index);
    }

    fn raise_commit(&mut self, index: Index) {
        if let Some(hard) = &mut self.hard_state {
            hard.commit = hard.commit.max(index);
        }
    }

    /// The content after a start: a log that does not reach its snapshot restarts.
    pub fn after_start(mut self) -> Memory {
        if let Some(snapshot) = &self.snapshot {
            let entry_id = EntryId { index: snapshot.index, term: snapshot.term };
            if self.term(entry_id.index.0) != Some(entry_id.term) {
                self.reset(entry_id);
            }
            self.raise_commit(entry_id.index);
        }
        self
    }
}

/// Reads the whole content of a log that was just opened.
pub fn remembered(wal: &Wal<MemDisk>, recovered: &Recovered) -> Memory {
    let (first, last) = (wal.first_index(), wal.last_index());
    assert_eq!((recovered.first_index, recovered.last_index), (first, last));
    let entries = wal.entries(first, Index(last.0 + 1), u64::MAX).expect("all entries read back");
    let before = Index(first.0 - 1);
    let term = wal.term(before).expect("the term before the first entry is known");
    for entry in &entries {
        assert_eq!(wal.term(entry.index).expect("terms read back"), entry.term);
    }
    assert_eq!(wal.snapshot().expect("the snapshot reads back"), recovered.snapshot);
    Memory {
        base: EntryId { index: before, term },
        entries: entries.into_iter().map(Cow::into_owned).collect(),
        hard_state: recovered.hard_state.clone(),
        snapshot: recovered.snapshot.clone(),
    }
}

/// Makes unique payloads of varying size.
#[derive(Debug, Default)]
pub struct Payloads {
    drawn: u64,
}

impl Payloads {
    pub fn draw(&mut self, size_bytes: usize) -> Vec<u8> {
        self.drawn += 1;
        let mut payload = self.drawn.to_le_bytes().to_vec();
        payload.resize(8 + size_bytes, self.drawn as u8);
        payload
    }
}

/// Random numbers that decide what survives a crash (splitmix64).
pub fn picker(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }
}
