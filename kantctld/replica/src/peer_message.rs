//! Encoding of messages between replicas, and the checks of received ones: everything that the
//! consensus library assumes about a message.

use crate::message_outline::{self, OutlineError};
use crate::snapshot_payload;
use common::id::ControllerId;
use protobuf::Message as _;
use raft::eraftpb::{Message, MessageType};

/// Above any real index or term; larger numbers could overflow.
const NUMBER_MAX: u64 = 1 << 62;

/// Why a received message is dropped.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("it cannot be decoded: {0}")]
    Unreadable(#[from] protobuf::ProtobufError),
    #[error(transparent)]
    Outline(#[from] OutlineError),
    #[error("it is from controller {from} to controller {to}")]
    Misrouted { from: u64, to: u64 },
    /// No replica sends such a message.
    #[error("it is invalid: {0}")]
    Invalid(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerMessage {
    pub to: ControllerId,
    /// Whether it has a snapshot: it is large, is sent separately, and its outcome must be reported
    /// ([`crate::Replica::note_snapshot_carried`]).
    pub has_snapshot: bool,
    pub bytes: Vec<u8>,
}

impl PeerMessage {
    pub(crate) fn encode(message: &Message) -> Result<Self, protobuf::ProtobufError> {
        Ok(Self {
            to: ControllerId(message.to),
            has_snapshot: message.get_msg_type() == MessageType::MsgSnapshot,
            bytes: message.write_to_bytes()?,
        })
    }

    /// Decodes a message received by this replica.
    ///
    /// # Errors
    /// [`MessageError`] for a message that must not reach the library, which panics on some.
    pub(crate) fn decode(bytes: &[u8], reader: u64) -> Result<Message, MessageError> {
        message_outline::check(bytes)?;
        let message = Message::parse_from_bytes(bytes)?;
        let (from, to) = (message.from, message.to);
        if to != reader || from == reader || from == raft::INVALID_ID {
            return Err(MessageError::Misrouted { from, to });
        }
        check(&message).map_err(MessageError::Invalid)?;
        Ok(message)
    }
}

fn check(message: &Message) -> Result<(), &'static str> {
    let numbers = [message.term, message.index, message.commit, message.reject_hint];
    if numbers.iter().any(|number| *number >= NUMBER_MAX) {
        return Err("a number is out of range");
    }
    match message.get_msg_type() {
        MessageType::MsgAppend => check_entries(message)?,
        MessageType::MsgSnapshot => check_snapshot_level(message)?,
        MessageType::MsgAppendResponse
        | MessageType::MsgHeartbeat
        | MessageType::MsgHeartbeatResponse
        | MessageType::MsgRequestVote
        | MessageType::MsgRequestVoteResponse
        | MessageType::MsgRequestPreVote
        | MessageType::MsgRequestPreVoteResponse
        | MessageType::MsgTimeoutNow => {}
        // Local messages of the library.
        _ => return Err("messages of its kind are not sent"),
    }
    // The library takes a message without a term for a local one.
    if message.term == 0 { Err("it has no term") } else { Ok(()) }
}

/// Checks that entries follow on the one before them and on each other. Only the first entry of a
/// log has none before it.
fn check_entries(message: &Message) -> Result<(), &'static str> {
    if (message.index == 0) != (message.log_term == 0) {
        return Err("its preceding entry has no term");
    }
    let (mut last, mut term) = (message.index, message.log_term);
    for entry in &message.entries {
        if entry.index != last + 1 || entry.term < term.max(1) {
            return Err("its entries are not consecutive");
        }
        (last, term) = (entry.index, entry.term);
    }
    if term > message.term { Err("an entry is of a later term") } else { Ok(()) }
}

/// Checks that a snapshot has a position, and that its payload and its metadata have equal members.
fn check_snapshot_level(message: &Message) -> Result<(), &'static str> {
    let snapshot = message.get_snapshot();
    let meta = snapshot.get_metadata();
    if meta.index == 0 || meta.index >= NUMBER_MAX || meta.term == 0 || meta.term > message.term {
        return Err("its snapshot has no valid position");
    }
    let members = snapshot_payload::split(&snapshot.data).map(|(members, _)| members);
    match members.is_ok_and(|members| members.conf_state() == *meta.get_conf_state()) {
        true => Ok(()),
        false => Err("its snapshot has no matching members"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::{Member, Members};
    use common::id::ClusterId;
    use raft::eraftpb::{Entry, Snapshot};

    fn append() -> Message {
        let mut message = Message { from: 2, to: 1, term: 3, ..Message::default() };
        message.set_msg_type(MessageType::MsgAppend);
        (message.index, message.log_term) = (4, 2);
        let entry = |index, term| Entry { index, term, ..Entry::default() };
        message.set_entries(vec![entry(5, 2), entry(6, 3)].into());
        message
    }

    fn snapshot() -> Message {
        let members = Members::founding(ClusterId(7), ControllerId(2), Member::default());
        let mut message = Message { from: 2, to: 1, term: 3, ..Message::default() };
        message.set_msg_type(MessageType::MsgSnapshot);
        let data = snapshot_payload::join(&members, b"state").unwrap().into();
        let mut snapshot = Snapshot { data, ..Snapshot::default() };
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (9, 3);
        meta.set_conf_state(members.conf_state());
        message.set_snapshot(snapshot);
        message
    }

    fn decoded(message: &Message) -> Result<Message, MessageError> {
        PeerMessage::decode(&PeerMessage::encode(message).unwrap().bytes, 1)
    }

    #[test]
    fn a_message_that_a_replica_writes_is_read() {
        for message in [append(), snapshot()] {
            assert_eq!(decoded(&message).unwrap(), message);
        }
        let mut first = append();
        (first.index, first.log_term) = (0, 0);
        first.mut_entries()[0].index = 1;
        first.mut_entries()[1].index = 2;
        assert!(decoded(&first).is_ok(), "the first entries of a log");
    }

    #[test]
    fn an_invalid_message_does_not_reach_the_library() {
        type Change = fn(&mut Message);
        let changes: [(&str, Change); 12] = [
            ("for another", |message| message.to = 3),
            ("from itself", |message| message.from = 1),
            ("from no member", |message| message.from = 0),
            ("no term", |message| message.term = 0),
            ("an endless log", |message| message.index = u64::MAX),
            ("an endless election", |message| message.term = u64::MAX),
            ("a gap", |message| message.mut_entries()[1].index = 8),
            ("a step back", |message| message.mut_entries()[1].term = 1),
            ("a later term", |message| message.mut_entries()[1].term = 4),
            ("no term before it", |message| message.log_term = 0),
            ("a proposal", |message| message.set_msg_type(MessageType::MsgPropose)),
            ("a local message", |message| {
                message.set_msg_type(MessageType::MsgReadIndex);
                message.clear_entries();
            }),
        ];
        for (what, change) in changes {
            let mut message = append();
            change(&mut message);
            assert!(decoded(&message).is_err(), "{what}");
        }
    }

    #[test]
    fn a_snapshot_without_matching_members_is_dropped() {
        let changes: [fn(&mut Message); 4] = [
            |message| message.mut_snapshot().data = b"nothing".to_vec().into(),
            |message| message.mut_snapshot().mut_metadata().index = 0,
            |message| message.mut_snapshot().mut_metadata().term = 9,
            |message| message.mut_snapshot().mut_metadata().mut_conf_state().voters.push(7),
        ];
        for change in changes {
            let mut message = snapshot();
            change(&mut message);
            assert!(matches!(decoded(&message), Err(MessageError::Invalid(_))));
        }
    }
}
