//! Votes in the bytes of messages and records, for simulations that check elections from outside.

use common::id::ControllerId;
use protobuf::Message as _;
use raft::eraftpb::{HardState, Message, MessageType};

/// Messages of elections carry no entries; longer ones need not be parsed.
const BYTES_MAX: usize = 128;

/// A vote as its controller announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote {
    pub term: u64,
    pub candidate: ControllerId,
}

/// The vote in a message of this controller. A candidate votes for itself before it asks others.
#[must_use]
pub fn vote_in(from: ControllerId, message: &[u8]) -> Option<Vote> {
    if message.len() > BYTES_MAX {
        return None;
    }
    let message = Message::parse_from_bytes(message).ok()?;
    let candidate = match message.get_msg_type() {
        MessageType::MsgRequestVote => from,
        MessageType::MsgRequestVoteResponse if !message.reject => ControllerId(message.to),
        _ => return None,
    };
    Some(Vote { term: message.term, candidate })
}

/// The record of a hard state without its vote.
#[must_use]
pub fn without_vote(record: &[u8]) -> Option<Vec<u8>> {
    let mut hard_state = HardState::parse_from_bytes(record).ok()?;
    hard_state.vote = 0;
    hard_state.write_to_bytes().ok()
}
