//! The options of a log directory. None of them changes how existing files are read.

use crate::error::{Error, Result};
use crate::record;
use crate::segment;

/// The options for new segments.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The size of a segment file in bytes, a multiple of 8. A record that does not fit gets a
    /// segment of its own size.
    pub segment_bytes: u64,
    /// Mixed into every checksum of new segments, so that bytes in a user's payload cannot pass for
    /// a record. Random in production, fixed in simulations.
    pub salt: u64,
    /// The size of the last entries' payloads kept in memory; earlier ones are read from disk when
    /// needed.
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { segment_bytes: 16 << 20, salt: 0, memory_bytes: 2 << 20 }
    }
}

impl Options {
    /// The smallest useful segment: a head and a handful of records.
    pub const SEGMENT_BYTES_MIN: u64 = 512;

    pub(crate) fn check(&self) -> Result<()> {
        const { assert!(Options::SEGMENT_BYTES_MIN > segment::HEAD_BYTES) };
        let max = u64::from(u32::MAX);
        let fits = (Options::SEGMENT_BYTES_MIN..=max).contains(&self.segment_bytes);
        if fits && self.segment_bytes.is_multiple_of(record::ALIGN_BYTES) {
            return Ok(());
        }
        Err(Error::SegmentSize { asked: self.segment_bytes })
    }
}
