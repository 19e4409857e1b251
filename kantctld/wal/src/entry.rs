//! The data of raft: entries, their ids, and the hard state. Payloads are opaque.

use std::fmt;

/// An index in the raft log. The first entry has 1; 0 is the position before the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Index(pub u64);

impl Index {
    /// The index after this one.
    pub fn next(self) -> Index {
        Index(self.0.saturating_add(1))
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Term(pub u64);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An index with the term of the entry there, by which raft compares logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EntryId {
    pub index: Index,
    pub term: Term,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub index: Index,
    pub term: Term,
    pub payload: Vec<u8>,
}

/// The data of a raft node besides its entries. Term and vote are in the payload; the commit index
/// is separate, because recovery refuses a log that ends before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardState {
    /// The highest index known to be committed. It overrides a copy in the payload: recovery raises
    /// it to the snapshot's index if that is higher.
    pub commit: Index,
    pub payload: Vec<u8>,
}
