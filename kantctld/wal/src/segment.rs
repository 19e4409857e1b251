//! A segment file: its head, and the scan of its records. Pure: the files are opened and written
//! elsewhere.
//!
//! ```text
//!  0  8 B  "KANTLOG\n"
//!  8  u32  format
//! 12  u32  crc32 of all other bytes of the head
//! 16  u64  id: segments are numbered without gaps
//! 24  u64  salt, mixed into the checksums of the records
//! 32  u64  sequence of the first record
//! 40  u64  size of the file
//! 48       records
//! ```
//!
//! The first 16 bytes and the length of the head are the same in all formats, including later ones.
//!
//! A segment gets its final name only after its head and first record are synced, so a bad head in
//! a file of that name is damage. And it is created only after the previous segment is synced: its
//! first sequence says where that one must end.

use std::fmt;
use std::ops::Range;

use crc32fast::Hasher;

use crate::codec::Cursor;
use crate::error::{Error, Result};
use crate::record::{self, Item, Sequence, Stamp};

const MAGIC: &[u8; 8] = b"KANTLOG\n";
/// The format this release writes and reads.
pub(crate) const FORMAT: u32 = 1;
/// Where the first record starts.
pub(crate) const HEAD_BYTES: u64 = 48;

/// Numbers segments from 1; not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentId(pub u64);

impl SegmentId {
    pub fn next(self) -> SegmentId {
        SegmentId(self.0.saturating_add(1))
    }
}

/// A byte in a file, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    pub file: String,
    pub offset: u64,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.file, self.offset)
    }
}

impl FilePosition {
    /// The error for damage at this position.
    pub(crate) fn corrupt(self, reason: impl Into<String>) -> Error {
        Error::Corrupt { file: self.file, offset: self.offset, reason: reason.into() }
    }
}

/// The head of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub id: SegmentId,
    pub salt: u64,
    pub first: Sequence,
    pub size_bytes: u64,
}

impl Head {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES as usize);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for number in [self.id.0, self.salt, self.first.0, self.size_bytes] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let crc = head_checksum(&out);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes the head of the segment with this id.
    pub fn decode(bytes: &[u8], id: SegmentId, file: &str) -> Result<Head> {
        let bad =
            |offset, reason: &str| FilePosition { file: file.to_string(), offset }.corrupt(reason);
        let Some(head) = bytes.get(..HEAD_BYTES as usize) else {
            return Err(bad(bytes.len() as u64, "the file ends inside its head"));
        };
        let Fields { format, crc, number, salt, first, size_bytes } =
            Fields::read(head).ok_or_else(|| bad(0, "this is not a log segment"))?;
        // Checked first, because a flipped bit in the format is damage.
        if head_checksum(head) != crc {
            return Err(bad(0, "the checksum of the head is wrong"));
        }
        if format != FORMAT {
            let file = file.to_string();
            return Err(Error::UnknownVersion { file, found: format, known: FORMAT });
        }
        if number != id.0 {
            return Err(bad(16, "the head belongs to another segment: was the file renamed?"));
        }
        if size_bytes != bytes.len() as u64 {
            return Err(bad(bytes.len() as u64, "the file does not have the length in its head"));
        }
        Ok(Head { id, salt, first: Sequence(first), size_bytes })
    }

    /// The start of every record's checksum, so that records from the file's earlier use as another
    /// segment do not match.
    pub fn seed(&self) -> Hasher {
        let mut seed = Hasher::new();
        seed.update(&self.salt.to_le_bytes());
        seed.update(&self.id.0.to_le_bytes());
        seed
    }
}

/// The fields of a head, unchecked except for its magic.
struct Fields {
    format: u32,
    crc: u32,
    number: u64,
    salt: u64,
    first: u64,
    size_bytes: u64,
}

impl Fields {
    fn read(head: &[u8]) -> Option<Fields> {
        let mut cursor = Cursor::new(head.strip_prefix(MAGIC)?);
        Some(Fields {
            format: cursor.u32()?,
            crc: cursor.u32()?,
            number: cursor.u64()?,
            salt: cursor.u64()?,
            first: cursor.u64()?,
            size_bytes: cursor.u64()?,
        })
    }
}

/// The checksum of a file's head, which is stored in its bytes 12 to 15.
pub(crate) fn head_checksum(head: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&head[..12]);
    hasher.update(&head[16..]);
    hasher.finalize()
}

/// The run of valid records from the start of a segment.
#[derive(Debug)]
pub(crate) struct Scan {
    /// With their byte ranges in the file.
    pub records: Vec<(Range<u64>, Vec<Item>)>,
    /// The end of the run.
    pub end: u64,
    /// The sequence that would come next.
    pub next: Sequence,
}

/// Reads records up to the first one that is invalid or out of sequence.
pub(crate) fn scan(bytes: &[u8], head: &Head, file: &str) -> Result<Scan> {
    let seed = head.seed();
    let mut scan = Scan { records: Vec::new(), end: HEAD_BYTES, next: head.first };
    while let Some(found) = record::decode(tail_of(bytes, scan.end), &seed) {
        if found.stamp.sequence != scan.next {
            break;
        }
        let Some(items) = found.items() else {
            let place = FilePosition { file: file.to_string(), offset: scan.end };
            return Err(place.corrupt("a record has an item that this kantctld does not know"));
        };
        let end = scan.end + found.record_bytes();
        scan.records.push((scan.end..end, items));
        scan.end = end;
        scan.next = scan.next.next();
    }
    Ok(scan)
}

/// Where, past the end of the scan, a valid record reports that the next one was synced. Then the
/// end of the run is damage, not a torn write.
pub(crate) fn later_proof_of_sync(bytes: &[u8], head: &Head, scan: &Scan) -> Option<u64> {
    let seed = head.seed();
    let past = scan.end + record::ALIGN_BYTES..bytes.len() as u64;
    past.step_by(record::ALIGN_BYTES as usize).find(|&at| {
        let rest = tail_of(bytes, at);
        // The stamp is checked first because that is cheap and excludes nearly every offset.
        let proves = |stamp: Stamp| stamp.durable >= scan.next;
        record::claimed_stamp(rest).is_some_and(proves) && record::decode(rest, &seed).is_some()
    })
}

/// Whether the bytes at the end of the scan look like the next record, incompletely written.
pub(crate) fn is_torn(bytes: &[u8], scan: &Scan) -> bool {
    let claimed = record::claimed_stamp(tail_of(bytes, scan.end));
    claimed.is_some_and(|stamp| stamp.sequence == scan.next)
}

fn tail_of(bytes: &[u8], offset: u64) -> &[u8] {
    bytes.get(offset as usize..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
