//! A record: the data of one `append` under one checksum, so that it survives completely or not at
//! all.
//!
//! ```text
//!  0  u32  length of the body; 0 ends a segment
//!  4  u32  crc32 of: the segment's salt and id, then all other bytes of this record
//!  8  u64  sequence: this is the n-th record ever written here
//! 16  u64  durable: the highest sequence known to be on disk when this record was written
//! 24       body: items, one after another; then zeros up to a multiple of 8
//! ```
//!
//! `durable` distinguishes a torn end from damage: a bad record that a later one reports as synced
//! was damaged afterwards.

use crc32fast::Hasher;

use crate::codec::{Cursor, put_block};
use crate::entry::{Entry, EntryId, HardState, Index, Term};

/// Records start at multiples of this, so that later ones can be found behind a damaged one.
pub(crate) const ALIGN_BYTES: u64 = 8;
/// The bytes before the body.
pub(crate) const HEAD_BYTES: u64 = 24;
/// The limit on a body; the length field would allow more.
pub(crate) const BODY_BYTES_MAX: u64 = 1 << 30;

/// Numbers the records of a log directory over its whole life, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Sequence(pub u64);

impl Sequence {
    pub fn next(self) -> Sequence {
        Sequence(self.0.saturating_add(1))
    }
}

/// The position of a record in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub sequence: Sequence,
    pub durable: Sequence,
}

/// One statement of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// The log now ends with this entry; entries at its index or above are removed.
    Entry(Entry),
    /// The new hard state.
    HardState(HardState),
    /// A snapshot covers the entries up to here, which are removed.
    Compact(EntryId),
    /// All entries are removed: the log restarts after a snapshot from the leader.
    Reset(EntryId),
    /// Only states that everything before is durable. Written at a clean stop.
    Mark,
}

const ENTRY: u8 = 1;
const HARD_STATE: u8 = 2;
const COMPACT: u8 = 3;
const RESET: u8 = 4;
const MARK: u8 = 5;

impl Item {
    fn encoded_bytes(&self) -> u64 {
        1 + match self {
            Item::Entry(entry) => 20 + entry.payload.len() as u64,
            Item::HardState(hard) => 12 + hard.payload.len() as u64,
            Item::Compact(_) | Item::Reset(_) => 16,
            Item::Mark => 0,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Item::Entry(entry) => {
                out.push(ENTRY);
                put_entry_id(out, EntryId { index: entry.index, term: entry.term });
                put_block(out, &entry.payload);
            }
            Item::HardState(hard) => {
                out.push(HARD_STATE);
                out.extend_from_slice(&hard.commit.0.to_le_bytes());
                put_block(out, &hard.payload);
            }
            Item::Compact(entry_id) => {
                out.push(COMPACT);
                put_entry_id(out, *entry_id);
            }
            Item::Reset(entry_id) => {
                out.push(RESET);
                put_entry_id(out, *entry_id);
            }
            Item::Mark => out.push(MARK),
        }
    }

    fn decode(cursor: &mut Cursor<'_>) -> Option<Item> {
        match cursor.byte()? {
            ENTRY => {
                let EntryId { index, term } = decode_entry_id(cursor)?;
                Some(Item::Entry(Entry { index, term, payload: cursor.block()?.to_vec() }))
            }
            HARD_STATE => {
                let commit = Index(cursor.u64()?);
                Some(Item::HardState(HardState { commit, payload: cursor.block()?.to_vec() }))
            }
            COMPACT => decode_entry_id(cursor).map(Item::Compact),
            RESET => decode_entry_id(cursor).map(Item::Reset),
            MARK => Some(Item::Mark),
            _ => None,
        }
    }
}

fn put_entry_id(out: &mut Vec<u8>, entry_id: EntryId) {
    out.extend_from_slice(&entry_id.index.0.to_le_bytes());
    out.extend_from_slice(&entry_id.term.0.to_le_bytes());
}

fn decode_entry_id(cursor: &mut Cursor<'_>) -> Option<EntryId> {
    Some(EntryId { index: Index(cursor.u64()?), term: Term(cursor.u64()?) })
}

/// The length of the body of these items.
pub(crate) fn body_bytes(items: &[Item]) -> u64 {
    items.iter().map(Item::encoded_bytes).sum()
}

/// The length of a record with a body of this length.
pub(crate) fn record_bytes(body_bytes: u64) -> u64 {
    HEAD_BYTES + body_bytes.next_multiple_of(ALIGN_BYTES)
}

/// Encodes a record. `seed` includes the segment's salt and id. The caller has checked that the
/// body has at most [`BODY_BYTES_MAX`].
pub(crate) fn encode(items: &[Item], stamp: Stamp, seed: &Hasher) -> Vec<u8> {
    let body = body_bytes(items);
    let length = u32::try_from(body).expect("a body is checked to be at most BODY_BYTES_MAX");
    let mut out = Vec::with_capacity(record_bytes(body) as usize);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&stamp.sequence.0.to_le_bytes());
    out.extend_from_slice(&stamp.durable.0.to_le_bytes());
    for item in items {
        item.encode(&mut out);
    }
    let crc = checksum_of_record(&out, seed);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out.resize(record_bytes(body) as usize, 0);
    out
}

/// The checksum of everything but itself and the padding.
fn checksum_of_record(record: &[u8], seed: &Hasher) -> u32 {
    let mut hasher = seed.clone();
    hasher.update(&record[..4]);
    hasher.update(&record[8..]);
    hasher.finalize()
}

/// A record with a valid checksum.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub stamp: Stamp,
    body: &'a [u8],
}

impl Found<'_> {
    pub fn record_bytes(&self) -> u64 {
        record_bytes(self.body.len() as u64)
    }

    /// The items, or None if one of them is unknown.
    pub fn items(&self) -> Option<Vec<Item>> {
        let mut cursor = Cursor::new(self.body);
        let mut items = Vec::new();
        while !cursor.is_at_end() {
            items.push(Item::decode(&mut cursor)?);
        }
        Some(items)
    }
}

/// The record's stamp, whether or not the checksum is valid. None without a record.
pub(crate) fn claimed_stamp(bytes: &[u8]) -> Option<Stamp> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u32()?;
    cursor.u32()?;
    let sequence = Sequence(cursor.u64()?);
    let durable = Sequence(cursor.u64()?);
    let is_sane = length > 0 && durable < sequence;
    is_sane.then_some(Stamp { sequence, durable })
}

/// Decodes the record at the start of these bytes, if it is complete and valid.
pub(crate) fn decode<'a>(bytes: &'a [u8], seed: &Hasher) -> Option<Found<'a>> {
    let stamp = claimed_stamp(bytes)?;
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u32()? as usize;
    let crc = cursor.u32()?;
    let record = bytes.get(..HEAD_BYTES as usize + length)?;
    if checksum_of_record(record, seed) != crc {
        return None;
    }
    Some(Found { stamp, body: &record[HEAD_BYTES as usize..] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items() -> Vec<Item> {
        let entry_id = EntryId { index: Index(4), term: Term(2) };
        let payload = b"launch".to_vec();
        vec![
            Item::Compact(entry_id),
            Item::Reset(entry_id),
            Item::Entry(Entry { index: Index(5), term: Term(3), payload }),
            Item::HardState(HardState { commit: Index(4), payload: b"t3v1".to_vec() }),
            Item::Mark,
        ]
    }

    const STAMP: Stamp = Stamp { sequence: Sequence(9), durable: Sequence(7) };

    #[test]
    fn a_record_can_be_read_back() {
        let seed = Hasher::new();
        let bytes = encode(&items(), STAMP, &seed);
        let found = decode(&bytes, &seed).unwrap();
        assert_eq!(found.stamp, STAMP);
        assert_eq!(found.items().unwrap(), items());
        assert_eq!(found.record_bytes(), bytes.len() as u64);
        assert!(found.record_bytes().is_multiple_of(ALIGN_BYTES));
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let seed = Hasher::new();
        let bytes = encode(&items(), STAMP, &seed);
        let body_end = (HEAD_BYTES + body_bytes(&items())) as usize;
        for bit in 0..body_end * 8 {
            let mut rotten = bytes.clone();
            rotten[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&rotten, &seed).is_none(), "bit {bit} was not detected");
        }
    }

    #[test]
    fn a_truncated_record_is_invalid() {
        let seed = Hasher::new();
        let bytes = encode(&items(), STAMP, &seed);
        let body_end = (HEAD_BYTES + body_bytes(&items())) as usize;
        for length in 0..body_end {
            assert!(decode(&bytes[..length], &seed).is_none());
        }
    }

    #[test]
    fn a_record_of_another_segment_is_invalid() {
        let bytes = encode(&items(), STAMP, &Hasher::new());
        let mut other = Hasher::new();
        other.update(b"another segment");
        assert!(decode(&bytes, &other).is_none());
    }

    #[test]
    fn an_unknown_item_is_refused() {
        let mut cursor = Cursor::new(&[77, 0, 0]);
        assert_eq!(Item::decode(&mut cursor), None);
    }
}
