//! A message from one replica to another, as bytes: sealed here, and read here with all that the
//! library takes for granted of one. Never says what is in it, but for what its carrier must know.

use crate::payload;
use common::id::ControllerId;
use protobuf::Message as _;
use raft::eraftpb::{Message, MessageType};

/// No log and no election ever gets so far: beyond it sums would overflow.
const FAR: u64 = 1 << 62;

/// Why a letter is as if lost.
#[derive(Debug, thiserror::Error)]
pub enum LetterError {
    /// The bytes.
    #[error("it does not read: {0}")]
    Unreadable(#[from] protobuf::ProtobufError),
    #[error("it is from controller {from} to controller {to}")]
    Astray {
        from: u64,
        /// Whom it is for.
        to: u64,
    },
    /// No replica of any release writes such a one.
    #[error("it makes no sense: {0}")]
    Senseless(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub to: ControllerId,
    /// It holds a snapshot: large, to be carried apart from the others, and its fate to be told
    /// ([`crate::Replica::note_snapshot_carried`]).
    pub has_snapshot: bool,
    pub bytes: Vec<u8>,
}

impl Letter {
    pub(crate) fn seal(message: &Message) -> Result<Self, protobuf::ProtobufError> {
        Ok(Self {
            to: ControllerId(message.to),
            has_snapshot: message.get_msg_type() == MessageType::MsgSnapshot,
            bytes: message.write_to_bytes()?,
        })
    }

    /// Reads one that came to this replica.
    ///
    /// # Errors
    /// [`LetterError`] for one that must not come before the library: it panics on some.
    pub(crate) fn open(bytes: &[u8], reader: u64) -> Result<Message, LetterError> {
        let message = Message::parse_from_bytes(bytes)?;
        let (from, to) = (message.from, message.to);
        if to != reader || from == reader || from == raft::INVALID_ID {
            return Err(LetterError::Astray { from, to });
        }
        check(&message).map_err(LetterError::Senseless)?;
        Ok(message)
    }
}

fn check(message: &Message) -> Result<(), &'static str> {
    let numbers = [message.term, message.index, message.commit, message.reject_hint];
    if numbers.iter().any(|number| *number >= FAR) {
        return Err("a number is out of all bounds");
    }
    match message.get_msg_type() {
        MessageType::MsgAppend => check_entries(message)?,
        MessageType::MsgSnapshot => check_snapshot(message)?,
        MessageType::MsgAppendResponse
        | MessageType::MsgHeartbeat
        | MessageType::MsgHeartbeatResponse
        | MessageType::MsgRequestVote
        | MessageType::MsgRequestVoteResponse
        | MessageType::MsgRequestPreVote
        | MessageType::MsgRequestPreVoteResponse
        | MessageType::MsgTimeoutNow => {}
        // A replica asks only itself these.
        _ => return Err("it is of a kind that is not sent"),
    }
    // To the library a letter without a term comes from this process itself.
    if message.term == 0 { Err("it has no term") } else { Ok(()) }
}

/// Entries follow on the one before them and on each other; only before the first there is none.
fn check_entries(message: &Message) -> Result<(), &'static str> {
    if (message.index == 0) != (message.log_term == 0) {
        return Err("the entry before its entries has no term");
    }
    let (mut last, mut term) = (message.index, message.log_term);
    for entry in &message.entries {
        if entry.index != last + 1 || entry.term < term.max(1) {
            return Err("its entries do not follow on each other");
        }
        (last, term) = (entry.index, entry.term);
    }
    if term > message.term { Err("an entry is of a later term") } else { Ok(()) }
}

/// A snapshot is of some entry, and says of the members what its head says.
fn check_snapshot(message: &Message) -> Result<(), &'static str> {
    let snapshot = message.get_snapshot();
    let meta = snapshot.get_metadata();
    if meta.index == 0 || meta.index >= FAR || meta.term == 0 || meta.term > message.term {
        return Err("its snapshot is of no entry");
    }
    let members = payload::split(&snapshot.data).map(|(members, _)| members);
    match members.is_ok_and(|members| members.conf_state() == *meta.get_conf_state()) {
        true => Ok(()),
        false => Err("its snapshot does not name the members"),
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
        let data = payload::join(&members, b"state").unwrap().into();
        let mut snapshot = Snapshot { data, ..Snapshot::default() };
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (9, 3);
        meta.set_conf_state(members.conf_state());
        message.set_snapshot(snapshot);
        message
    }

    fn opened(message: &Message) -> Result<Message, LetterError> {
        Letter::open(&Letter::seal(message).unwrap().bytes, 1)
    }

    #[test]
    fn what_a_replica_writes_is_read() {
        for message in [append(), snapshot()] {
            assert_eq!(opened(&message).unwrap(), message);
        }
        let mut first = append();
        (first.index, first.log_term) = (0, 0);
        first.mut_entries()[0].index = 1;
        first.mut_entries()[1].index = 2;
        assert!(opened(&first).is_ok(), "the first entries of a log");
    }

    #[test]
    fn what_none_would_write_never_comes_before_the_library() {
        type Change = fn(&mut Message);
        let changes: [(&str, Change); 12] = [
            ("another's", |message| message.to = 3),
            ("from itself", |message| message.from = 1),
            ("from nobody", |message| message.from = 0),
            ("no term", |message| message.term = 0),
            ("an endless log", |message| message.index = u64::MAX),
            ("an endless election", |message| message.term = u64::MAX),
            ("a gap", |message| message.mut_entries()[1].index = 8),
            ("a step back", |message| message.mut_entries()[1].term = 1),
            ("a later term", |message| message.mut_entries()[1].term = 4),
            ("no term before it", |message| message.log_term = 0),
            ("a proposal", |message| message.set_msg_type(MessageType::MsgPropose)),
            ("a question", |message| {
                message.set_msg_type(MessageType::MsgReadIndex);
                message.clear_entries();
            }),
        ];
        for (what, change) in changes {
            let mut message = append();
            change(&mut message);
            assert!(opened(&message).is_err(), "{what}");
        }
    }

    #[test]
    fn a_snapshot_that_does_not_name_its_members_is_as_if_lost() {
        let changes: [fn(&mut Message); 4] = [
            |message| message.mut_snapshot().data = b"nothing".to_vec().into(),
            |message| message.mut_snapshot().mut_metadata().index = 0,
            |message| message.mut_snapshot().mut_metadata().term = 9,
            |message| message.mut_snapshot().mut_metadata().mut_conf_state().voters.push(7),
        ];
        for change in changes {
            let mut message = snapshot();
            change(&mut message);
            assert!(matches!(opened(&message), Err(LetterError::Senseless(_))));
        }
    }
}
