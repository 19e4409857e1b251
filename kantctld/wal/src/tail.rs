//! The live tail of the log: what raft reads, and what the records on disk add up to; of entries
//! but the last in memory, where they stand. Live writes and recovery apply the same items here. It
//! never touches the disk.

use std::collections::VecDeque;

use crate::entry::{Entry, HardState, Index, Position, Term};
use crate::error::{Error, Result};
use crate::kept::{Home, Kept};
use crate::record::Item;

/// Entries after a base position, and the hard state.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Everything up to here is in a snapshot.
    base: Position,
    /// Consecutive. Begin right after the base, except in the middle of a recovery.
    entries: VecDeque<Kept>,
    /// So many of the first are on the disk alone.
    cold: usize,
    /// The payloads of the others.
    warm_bytes: u64,
    /// The most that may be, but for the last entry's.
    warm_bytes_max: u64,
    /// Its commit index is kept equal to `committed`.
    hard_state: Option<HardState>,
    /// The highest index known committed, be it from a hard state or because it is in a snapshot.
    committed: Index,
}

impl Tail {
    pub fn new(warm_bytes_max: u64) -> Self {
        Tail { warm_bytes_max, ..Tail::default() }
    }

    pub fn base(&self) -> Position {
        self.base
    }

    pub fn hard_state(&self) -> Option<&HardState> {
        self.hard_state.as_ref()
    }

    /// The highest index known committed: up to here no write may touch anything any more.
    pub fn committed(&self) -> Index {
        self.committed
    }

    pub fn first_index(&self) -> Index {
        self.base.index.next()
    }

    pub fn last_index(&self) -> Index {
        self.entries.back().map_or(self.base.index, Kept::index)
    }

    /// What the first record of a segment says, so that earlier segments may go.
    pub fn opening(&self) -> Vec<Item> {
        let base = std::iter::once(Item::Compact(self.base));
        base.chain(self.hard_state.clone().map(Item::HardState)).collect()
    }

    /// Takes note that everything up to here is committed, as what is in a snapshot always is.
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

    /// The entries from `low` up to but not `high`, as many as fit into `bytes_max` of payload,
    /// at least one.
    pub fn entries(&self, low: Index, high: Index, bytes_max: u64) -> Result<Vec<&Kept>> {
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

    /// Whether raft may append these: in one piece, joined to the log, above the commit index,
    /// and the commit index itself neither falling nor beyond the end.
    pub fn check(&self, entries: &[Entry], hard_state: Option<&HardState>) -> Result<()> {
        let refuse = |reason: String| Err(Error::refused("append to the log", reason));
        let committed = self.committed;
        let mut last = self.last_index();
        if let Some(head) = entries.first() {
            let first = head.index;
            if first > last.next() {
                return refuse(format!("entry {first} would leave a gap after {last}"));
            }
            if first <= committed {
                let reason = format!("entry {first} is committed, as all are up to {committed}");
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
                refuse(format!("commit index {} is beyond the end, {last}", hard.commit))
            }
            Some(hard) if hard.commit < committed => {
                refuse(format!("commit index {} is below {committed}", hard.commit))
            }
            _ => Ok(()),
        }
    }

    /// Takes in one item of the record that stands there. The error says what about it cannot
    /// follow on what came before, which for an item that was checked or written by us can only be
    /// damage.
    pub fn apply(&mut self, item: Item, home: Home) -> std::result::Result<(), String> {
        match item {
            Item::Entry(entry) => return self.push(entry, home),
            Item::HardState(hard) => {
                let commit = hard.commit;
                self.hard_state = Some(hard);
                self.raise_commit(commit);
            }
            Item::Compact(to) => self.compact(to),
            Item::Reset(to) => {
                self.entries.clear();
                (self.cold, self.warm_bytes) = (0, 0);
                self.base = to;
                self.raise_commit(to.index);
            }
            Item::Mark => {}
        }
        Ok(())
    }

    fn push(&mut self, entry: Entry, home: Home) -> std::result::Result<(), String> {
        let index = entry.index;
        if index <= self.base.index {
            return Err(format!("entry {index} is below the start of the log"));
        }
        // With no entries yet the log may begin above its base: what lay between was compacted
        // with its segments, and a later record says so (`check_whole` makes sure).
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
        self.warm_bytes += entry.payload.len() as u64;
        self.entries.push_back(Kept::Warm { entry, home });
        self.cool();
        Ok(())
    }

    fn forget_last(&mut self) {
        if let Some(last) = self.entries.pop_back().filter(Kept::is_warm) {
            self.warm_bytes -= last.payload_bytes();
        }
        self.cold = self.cold.min(self.entries.len());
    }

    /// Lets go of the earliest payloads, as far as there are too many.
    fn cool(&mut self) {
        while self.warm_bytes > self.warm_bytes_max && self.cold + 1 < self.entries.len() {
            let kept = &mut self.entries[self.cold];
            self.warm_bytes -= kept.payload_bytes();
            kept.cool();
            self.cold += 1;
        }
    }

    fn compact(&mut self, to: Position) {
        if to.index <= self.base.index {
            return;
        }
        while self.entries.front().is_some_and(|entry| entry.index() <= to.index) {
            if let Some(first) = self.entries.pop_front().filter(Kept::is_warm) {
                self.warm_bytes -= first.payload_bytes();
            }
            self.cold = self.cold.saturating_sub(1);
        }
        self.base = to;
        self.raise_commit(to.index);
    }

    /// After a recovery: nothing may be missing between the base and the first entry, nor between
    /// the last entry and the commit index.
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
