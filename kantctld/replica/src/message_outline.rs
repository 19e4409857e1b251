//! A first look at the bytes of a received message, before they are parsed: a few bytes of a part
//! become a hundred in memory, so the number of parts is bounded. Data is skipped, not copied.

use protobuf::wire_format::WireType;
use protobuf::{CodedInputStream, ProtobufError};

/// The most parts of one message. A leader sends at most a mebibyte of entries at a time, unless
/// one entry alone is larger; an entry takes at least four bytes, and has at most six parts.
const PARTS_MAX: u32 = 6 * ((1 << 20) / 4) + 64;

/// A kind of message that contains others.
#[derive(Clone, Copy)]
enum Kind {
    Message,
    Entry,
    Snapshot,
    SnapshotMetadata,
    Members,
}

impl Kind {
    /// The kind of this part, if it has parts itself (eraftpb.proto of the consensus library).
    const fn part(self, number: u32) -> Option<Self> {
        match (self, number) {
            (Self::Message, 7) => Some(Self::Entry),
            (Self::Message, 9) => Some(Self::Snapshot),
            (Self::Snapshot, 2) => Some(Self::SnapshotMetadata),
            (Self::SnapshotMetadata, 1) => Some(Self::Members),
            _ => None,
        }
    }
}

/// Why a message is not parsed.
#[derive(Debug, thiserror::Error)]
pub enum OutlineError {
    #[error("its parts cannot be read: {0}")]
    Unreadable(#[from] ProtobufError),
    #[error("it has more than {PARTS_MAX} parts")]
    TooManyParts,
    /// An old encoding, which nests without end and which no replica writes.
    #[error("it contains a group")]
    Group,
}

/// Checks that a message has few enough parts to be parsed.
///
/// # Errors
/// [`OutlineError`].
pub fn check(bytes: &[u8]) -> Result<(), OutlineError> {
    count(&mut CodedInputStream::from_bytes(bytes), Kind::Message, 0).map(drop)
}

/// Counts the parts up to the stream's limit, from `parts` on.
fn count(
    stream: &mut CodedInputStream<'_>,
    kind: Kind,
    mut parts: u32,
) -> Result<u32, OutlineError> {
    while !stream.eof()? {
        let (number, wire) = stream.read_tag_unpack()?;
        parts += 1;
        if parts > PARTS_MAX {
            return Err(OutlineError::TooManyParts);
        }
        match (kind.part(number), wire) {
            (_, WireType::WireTypeStartGroup | WireType::WireTypeEndGroup) => {
                return Err(OutlineError::Group);
            }
            (Some(part), WireType::WireTypeLengthDelimited) => {
                let length = stream.read_raw_varint64()?;
                let outer = stream.push_limit(length)?;
                parts = count(stream, part, parts)?;
                stream.pop_limit(outer);
            }
            _ => stream.skip_field(wire)?,
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protobuf::Message as _;
    use raft::eraftpb::{Entry, Message};

    #[test]
    fn as_many_entries_as_a_leader_sends_are_counted_and_more_are_refused() {
        let entry = Entry { term: 1, index: 1, ..Entry::default() };
        let most = (1 << 20) / entry.compute_size() as usize;
        let mut message = Message { from: 2, to: 1, term: 1, ..Message::default() };
        message.set_entries(vec![entry; most].into());
        check(&message.write_to_bytes().unwrap()).unwrap();
        // An empty entry takes two bytes, and a hundred in memory.
        let many = [0x3a, 0].repeat(PARTS_MAX as usize + 1);
        assert!(matches!(check(&many), Err(OutlineError::TooManyParts)));
        let unknown = [&[0x3a, 0xfe, 0xff, 0x7f][..], &[0x78, 0].repeat(0xf_ffff)].concat();
        assert!(check(&unknown).is_ok(), "within the bound");
    }

    #[test]
    fn groups_are_refused_however_deep_they_are() {
        for depth in [1, 2_000_000] {
            assert!(matches!(check(&[0x0b].repeat(depth)), Err(OutlineError::Group)));
        }
        assert!(matches!(check(&[0x3a, 1, 0x0b]), Err(OutlineError::Group)), "in an entry");
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        for bytes in [&[0x3a, 0xff][..], &[0x08], &[0xff; 11]] {
            assert!(matches!(check(bytes), Err(OutlineError::Unreadable(_))), "{bytes:?}");
        }
    }
}
