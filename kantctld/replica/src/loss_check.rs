//! Detection of a lost part of this log from messages of other members. The library would take such
//! a message for a defect and panic, or continue with diverging histories.

use crate::error::Loss;
use common::id::ControllerId;
use raft::eraftpb::{Message, MessageType};
use raft::{Raft, StateRole, Storage};

/// Checks a valid message against the log.
///
/// # Errors
/// [`Loss`] if they contradict each other.
pub fn check<S: Storage>(raft: &Raft<S>, message: &Message) -> Result<(), Loss> {
    let is_leaders =
        message.term > raft.term || message.term == raft.term && raft.state != StateRole::Leader;
    let last = raft.raft_log.last_index();
    match message.get_msg_type() {
        // A leader's heartbeat has at most the index that this member acknowledged.
        MessageType::MsgHeartbeat if is_leaders && message.commit > last => {
            Err(Loss::End { held: message.commit, last })
        }
        MessageType::MsgAppend if is_leaders => check_decided(raft, message),
        MessageType::MsgAppendResponse if is_leader_in(raft, message.term) => {
            match !message.reject && message.index > last {
                true => {
                    let by = ControllerId(message.from);
                    Err(Loss::Sent { by, held: message.index, last })
                }
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn is_leader_in<S: Storage>(raft: &Raft<S>, term: u64) -> bool {
    raft.state == StateRole::Leader && raft.term == term
}

/// A leader has everything committed before its election, so an entry committed here must be the
/// same there.
fn check_decided<S: Storage>(raft: &Raft<S>, message: &Message) -> Result<(), Loss> {
    let log = &raft.raft_log;
    let before = (message.index, message.log_term);
    let sent = message.entries.iter().map(|entry| (entry.index, entry.term));
    for (index, term) in std::iter::once(before).chain(sent) {
        let is_kept = index + 1 >= log.first_index();
        if index > log.committed {
            return Ok(());
        }
        if index > 0 && is_kept && !log.match_term(index, term) {
            return Err(Loss::Other { index });
        }
    }
    Ok(())
}
