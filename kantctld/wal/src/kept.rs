//! What memory holds of one entry of the log: all of it, or only where it stands on the disk. A
//! leader reads the last entries all the time, and earlier ones only for a follower that was away.
//! It never touches the disk.

use crate::entry::{Entry, Index, Position, Term};
use crate::segment::SegmentId;

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub segment: SegmentId,
    /// Its first byte in the segment's file.
    pub offset: u64,
    /// How long it is, padding included.
    pub record_bytes: u64,
}

/// One entry of the log.
#[derive(Debug)]
pub(crate) enum Kept {
    Warm {
        entry: Entry,
        home: Home,
    },
    /// On the disk alone.
    Cold {
        position: Position,
        payload_bytes: u64,
        home: Home,
    },
}

impl Kept {
    pub fn position(&self) -> Position {
        match self {
            Kept::Warm { entry, .. } => Position { index: entry.index, term: entry.term },
            Kept::Cold { position, .. } => *position,
        }
    }

    pub fn index(&self) -> Index {
        self.position().index
    }

    pub fn term(&self) -> Term {
        self.position().term
    }

    pub fn payload_bytes(&self) -> u64 {
        match self {
            Kept::Warm { entry, .. } => entry.payload.len() as u64,
            Kept::Cold { payload_bytes, .. } => *payload_bytes,
        }
    }

    pub fn is_warm(&self) -> bool {
        matches!(self, Kept::Warm { .. })
    }

    /// Lets go of the payload, which stands on the disk.
    pub fn cool(&mut self) {
        if let Kept::Warm { home, .. } = &*self {
            let (position, payload_bytes, home) = (self.position(), self.payload_bytes(), *home);
            *self = Kept::Cold { position, payload_bytes, home };
        }
    }
}
