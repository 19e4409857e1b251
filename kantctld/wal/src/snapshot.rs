//! A snapshot and its file format. Pure; the payload is opaque.
//!
//! ```text
//!  0  8 B  "KANTSNAP"
//!  8  u32  format
//! 12  u32  crc32 of all other bytes of the head
//! 16  u64  index
//! 24  u64  term
//! 32  u64  length of the payload
//! 40  u32  crc32 of the payload
//! 44  u32  0
//! 48       payload
//! ```
//!
//! The first 16 bytes and the length of the head are the same in all formats, including later ones.

use crate::codec::Cursor;
use crate::entry::{EntryId, Index, Term};
use crate::error::{Error, Result};
use crate::segment::{FilePosition, head_checksum};

const MAGIC: &[u8; 8] = b"KANTSNAP";
/// The format this release writes and reads.
pub(crate) const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 48;

/// The state at one log index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last entry applied.
    pub index: Index,
    pub term: Term,
    /// Opaque to this crate.
    pub payload: Vec<u8>,
}

impl Snapshot {
    /// The index and term of the last entry that it contains.
    pub fn entry_id(&self) -> EntryId {
        EntryId { index: self.index, term: self.term }
    }

    /// The bytes before the payload.
    pub(crate) fn encode_head(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for number in [self.index.0, self.term.0, self.payload.len() as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&crc32fast::hash(&self.payload).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        let crc = head_checksum(&out);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes the file of the snapshot with this index.
    pub(crate) fn decode(mut bytes: Vec<u8>, index: Index, file: &str) -> Result<Snapshot> {
        let bad =
            |offset, reason: &str| FilePosition { file: file.to_string(), offset }.corrupt(reason);
        let head = bytes.get(..HEAD_BYTES).and_then(Fields::read);
        let Some(head) = head else {
            return Err(bad(0, "this is not a snapshot"));
        };
        // Checked first, because a flipped bit in the format is damage.
        if head_checksum(&bytes[..HEAD_BYTES]) != head.crc {
            return Err(bad(0, "the checksum of the snapshot's head is wrong"));
        }
        if head.format != FORMAT {
            let file = file.to_string();
            return Err(Error::UnknownVersion { file, found: head.format, known: FORMAT });
        }
        if head.index != index.0 {
            return Err(bad(16, "the snapshot has another index: was the file renamed?"));
        }
        let payload = bytes.split_off(HEAD_BYTES);
        if payload.len() as u64 != head.payload_bytes {
            return Err(bad(32, "the snapshot does not have the length in its head"));
        }
        if crc32fast::hash(&payload) != head.payload_crc {
            return Err(bad(HEAD_BYTES as u64, "the checksum of the snapshot is wrong"));
        }
        Ok(Snapshot { index, term: Term(head.term), payload })
    }
}

/// The fields of a head, unchecked except for its magic.
struct Fields {
    format: u32,
    crc: u32,
    index: u64,
    term: u64,
    payload_bytes: u64,
    payload_crc: u32,
}

impl Fields {
    fn read(head: &[u8]) -> Option<Fields> {
        let mut cursor = Cursor::new(head.strip_prefix(MAGIC)?);
        Some(Fields {
            format: cursor.u32()?,
            crc: cursor.u32()?,
            index: cursor.u64()?,
            term: cursor.u64()?,
            payload_bytes: cursor.u64()?,
            payload_crc: cursor.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot { index: Index(70), term: Term(6), payload: b"the whole state".to_vec() }
    }

    fn bytes() -> Vec<u8> {
        let mut bytes = snapshot().encode_head();
        bytes.extend(snapshot().payload);
        bytes
    }

    #[test]
    fn a_snapshot_can_be_read_back() {
        assert_eq!(Snapshot::decode(bytes(), Index(70), "s").unwrap(), snapshot());
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_detected() {
        for bit in 0..bytes().len() * 8 {
            let mut rotten = bytes();
            rotten[bit / 8] ^= 1 << (bit % 8);
            Snapshot::decode(rotten, Index(70), "s").unwrap_err();
        }
        for length in 0..bytes().len() {
            Snapshot::decode(bytes()[..length].to_vec(), Index(70), "s").unwrap_err();
        }
    }

    #[test]
    fn a_renamed_snapshot_is_refused() {
        let error = Snapshot::decode(bytes(), Index(71), "s").unwrap_err().to_string();
        assert!(error.contains("renamed"), "{error}");
    }

    #[test]
    fn an_unknown_format_is_refused_with_the_remedy() {
        let mut newer = bytes();
        newer[8] = 2;
        let turned = Snapshot::decode(newer.clone(), Index(70), "s").unwrap_err();
        assert!(matches!(turned, Error::Corrupt { .. }), "{turned}");
        let crc = head_checksum(&newer[..HEAD_BYTES]);
        newer[12..16].copy_from_slice(&crc.to_le_bytes());
        let error = Snapshot::decode(newer, Index(70), "s").unwrap_err();
        assert!(matches!(error, Error::UnknownVersion { found: 2, known: 1, .. }));
        assert!(error.to_string().contains("start the kantctld release that wrote it"));
    }
}
