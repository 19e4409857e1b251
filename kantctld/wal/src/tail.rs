//! The live part of the log as raft reads it, and as the records on disk add up to it. The payloads
//! of all but the last entries are only on disk. Live writes and recovery apply the same items.

use std::collections::VecDeque;

use crate::entry::{Entry, EntryId, HardState, Index, Term};
use crate::error::{Error, Result};
use crate::log_slot::{LogSlot, RecordLocation};
use crate::record::Item;

/// Entries after a base position, and the hard state.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// A snapshot has everything up to here.
    base: EntryId,
    /// Consecutive; they start right after the base, except during recovery.
    entries: VecDeque<LogSlot>,
    /// The number of first entries whose payload is only on disk.
    on_disk: usize,
    /// The size of the other entries' payloads.
    memory_bytes: u64,
    /// The limit on that, not counting the last entry.
    memory_bytes_max: u64,
    /// Its commit index equals `committed`.
    hard_state: Option<HardState>,
    /// The highest index known to be committed, from a hard state or a snapshot.
    committed: Index,
}

impl Tail {
    pub fn new(memory_bytes_max: u64) -> Self {
        Tail { memory_bytes_max, ..Tail::default() }
    }

    pub fn base(&self) -> EntryId {
        self.base
    }

    pub fn hard_state(&self) -> Option<&HardState> {
        self.hard_state.as_ref()
    }

    /// The highest index known to be committed: no write may change entries up to here.
    pub fn committed(&self) -> Index {
        self.committed
    }

    pub fn first_index(&self) -> Index {
        self.base.index.next()
    }

    pub fn last_index(&self) -> Index {
        self.entries.back().map_or(self.base.index, LogSlot::index)
    }

    /// The first record of a segment, which makes earlier segments unnecessary.
    pub fn opening_items(&self) -> Vec<Item> {
        let base = std::iter::once(Item::Compact(self.base));
        base.chain(self.hard_state.clone().map(Item::HardState)).collect()
    }

    /// Notes that everything up to here is committed, as the content of a snapshot always is.
    pub fn raise_commit(&mut self, index: Index) {
        self.committed = self.committed.max(index);
        if let Some(hard) = &mut self.hard_state {
            hard.commit = self.committed;
        }
    }

    pub fn term(&self, index: Index) -> Result<Term> {
        if index == self.base.index {
            return Ok(self.base.term);
        }
        self.slot(index).map(|slot| self.entries[slot].term())
    }

    /// The entries from `low` up to but not including `high`: as many as have at most `bytes_max`
    /// of payload, but at least one.
    pub fn entries(&self, low: Index, high: Index, bytes_max: u64) -> Result<Vec<&LogSlot>> {
        if low >= high {
            return Ok(Vec::new());
        }
        let first = self.slot(low)?;
        let last = self.slot(Index(high.0 - 1))?;
        let mut used_bytes = 0;
        let within = self.entries.range(first..=last).enumerate().take_while(|(count, entry)| {
            used_bytes += entry.payload_bytes();
            *count == 0 || used_bytes <= bytes_max
        });
        Ok(within.map(|(_, entry)| entry).collect())
    }

    fn slot(&self, index: Index) -> Result<usize> {
        let first = self.first_index();
        let Some(slot) = index.0.checked_sub(first.0) else {
            return Err(Error::Compacted { index, first });
        };
        if slot >= self.entries.len() as u64 {
            return Err(Error::Unavailable { index, last: self.last_index() });
        }
        Ok(slot as usize)
    }

    /// Checks an append: the entries must be consecutive, follow the log, and be above the commit
    /// index, which must neither fall nor exceed the last entry.
    pub fn check_append(&self, entries: &[Entry], hard_state: Option<&HardState>) -> Result<()> {
        let refuse = |reason: String| Err(Error::refused("append to the log", reason));
        let committed = self.committed;
        let mut last = self.last_index();
        if let Some(head) = entries.first() {
            let first = head.index;
            if first > last.next() {
                return refuse(format!("entry {first} would leave a gap after {last}"));
            }
            if first <= committed {
                let reason = format!("entry {first} is committed, like all up to {committed}");
                return refuse(reason);
            }
            let in_order = entries.windows(2).all(|pair| pair[1].index == pair[0].index.next());
            if !in_order {
                return refuse(format!("the entries from {first} on are not consecutive"));
            }
            last = entries.last().map_or(last, |entry| entry.index);
        }
        match hard_state {
            Some(hard) if hard.commit > last => {
                refuse(format!("commit index {} is above the last entry, {last}", hard.commit))
            }
            Some(hard) if hard.commit < committed => {
                refuse(format!("commit index {} is below {committed}", hard.commit))
            }
            _ => Ok(()),
        }
    }

    /// Applies one item of the record at this location. The error says why it cannot follow what
    /// came before; for an item that was checked or written by this crate that means damage.
    pub fn apply(
        &mut self,
        item: Item,
        location: RecordLocation,
    ) -> std::result::Result<(), String> {
        match item {
            Item::Entry(entry) => return self.truncate_and_push(entry, location),
            Item::HardState(hard) => {
                let commit = hard.commit;
                self.hard_state = Some(hard);
                self.raise_commit(commit);
            }
            Item::Compact(to) => self.compact(to),
            Item::Reset(to) => {
                self.entries.clear();
                (self.on_disk, self.memory_bytes) = (0, 0);
                self.base = to;
                self.raise_commit(to.index);
            }
            Item::Mark => {}
        }
        Ok(())
    }

    fn truncate_and_push(
        &mut self,
        entry: Entry,
        location: RecordLocation,
    ) -> std::result::Result<(), String> {
        let index = entry.index;
        if index <= self.base.index {
            return Err(format!("entry {index} is below the start of the log"));
        }
        // Without entries the log may start above its base: what was between was compacted with its
        // segments, and a later record says so (`check_whole` checks that).
        if let (Some(front), Some(back)) = (self.entries.front(), self.entries.back()) {
            let (front, back) = (front.index(), back.index());
            if index > back.next() {
                return Err(format!("entry {index} follows entry {back}"));
            }
            let kept = index.0.saturating_sub(front.0);
            while self.entries.len() as u64 > kept {
                self.forget_last();
            }
        }
        self.memory_bytes += entry.payload.len() as u64;
        self.entries.push_back(LogSlot::InMemory { entry, location });
        self.limit_memory();
        Ok(())
    }

    fn forget_last(&mut self) {
        if let Some(last) = self.entries.pop_back().filter(LogSlot::is_in_memory) {
            self.memory_bytes -= last.payload_bytes();
        }
        self.on_disk = self.on_disk.min(self.entries.len());
    }

    /// Drops the earliest payloads while there are too many.
    fn limit_memory(&mut self) {
        while self.memory_bytes > self.memory_bytes_max && self.on_disk + 1 < self.entries.len() {
            let kept = &mut self.entries[self.on_disk];
            self.memory_bytes -= kept.payload_bytes();
            kept.drop_payload();
            self.on_disk += 1;
        }
    }

    fn compact(&mut self, to: EntryId) {
        if to.index <= self.base.index {
            return;
        }
        while self.entries.front().is_some_and(|entry| entry.index() <= to.index) {
            if let Some(first) = self.entries.pop_front().filter(LogSlot::is_in_memory) {
                self.memory_bytes -= first.payload_bytes();
            }
            self.on_disk = self.on_disk.saturating_sub(1);
        }
        self.base = to;
        self.raise_commit(to.index);
    }

    /// Checks after a recovery that nothing is missing between the base and the first entry, or
    /// between the last entry and the commit index.
    pub fn check_whole(&self) -> std::result::Result<(), String> {
        let (first, commit, last) = (self.first_index(), self.committed, self.last_index());
        match self.entries.front() {
            Some(entry) if entry.index() != first => {
                Err(format!("entries {first} to {} are missing", entry.index().0 - 1))
            }
            _ if commit > last => {
                Err(format!("the log ends at entry {last}, although {commit} was committed"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
