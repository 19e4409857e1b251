//! What raft asks us to remember: entries, their positions, and the hard state.
//! Payloads are opaque bytes; nothing here reads them.

use std::fmt;

/// A place in the raft log. The first entry is 1; 0 stands for "before the log".
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

/// An index together with the term of the entry there: what raft compares logs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    pub index: Index,
    /// Written under which leader.
    pub term: Term,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the log.
    pub index: Index,
    /// The term it was proposed in.
    pub term: Term,
    /// What it says, opaque to this crate.
    pub payload: Vec<u8>,
}

/// What a raft node must remember besides its entries. Term and vote hide in the payload; the
/// commit index is spelled out because recovery refuses a log that ends before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardState {
    /// The highest index known committed. Wins over any copy inside the payload: recovery raises
    /// it to the snapshot's index when the snapshot is ahead.
    pub commit: Index,
    /// Term and vote, opaque to this crate.
    pub payload: Vec<u8>,
}
