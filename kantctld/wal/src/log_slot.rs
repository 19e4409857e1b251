//! The in-memory part of one entry: all of it, or only its location on disk. A leader reads the
//! last entries constantly, and earlier ones only for a follower that was away.

use crate::entry::{Entry, EntryId, Index, Term};
use crate::segment::SegmentId;

/// The location of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordLocation {
    pub segment: SegmentId,
    /// The first byte in the segment's file.
    pub offset: u64,
    /// The length with padding.
    pub record_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum LogSlot {
    InMemory {
        entry: Entry,
        location: RecordLocation,
    },
    /// Only on disk.
    OnDisk {
        entry_id: EntryId,
        payload_bytes: u64,
        location: RecordLocation,
    },
}

impl LogSlot {
    pub fn entry_id(&self) -> EntryId {
        match self {
            LogSlot::InMemory { entry, .. } => EntryId { index: entry.index, term: entry.term },
            LogSlot::OnDisk { entry_id, .. } => *entry_id,
        }
    }

    pub fn index(&self) -> Index {
        self.entry_id().index
    }

    pub fn term(&self) -> Term {
        self.entry_id().term
    }

    pub fn payload_bytes(&self) -> u64 {
        match self {
            LogSlot::InMemory { entry, .. } => entry.payload.len() as u64,
            LogSlot::OnDisk { payload_bytes, .. } => *payload_bytes,
        }
    }

    pub fn is_in_memory(&self) -> bool {
        matches!(self, LogSlot::InMemory { .. })
    }

    /// Drops the payload, which is on disk.
    pub fn drop_payload(&mut self) {
        if let LogSlot::InMemory { location, .. } = &*self {
            let (entry_id, payload_bytes, location) =
                (self.entry_id(), self.payload_bytes(), *location);
            *self = LogSlot::OnDisk { entry_id, payload_bytes, location };
        }
    }
}
