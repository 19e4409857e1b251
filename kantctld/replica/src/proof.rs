//! What another's letter proves about this log: that a part of it which was synced, and which
//! others rest on, is gone. The library takes such a letter for a defect and panics, or goes on
//! with two histories. Never looks at a letter that the library would not act on.

use crate::error::Loss;
use common::id::ControllerId;
use raft::eraftpb::{Message, MessageType};
use raft::{Raft, StateRole, Storage};

/// Holds a well-formed letter against the log.
///
/// # Errors
/// [`Loss`] when both cannot be true.
pub fn check<S: Storage>(raft: &Raft<S>, letter: &Message) -> Result<(), Loss> {
    let is_leaders =
        letter.term > raft.term || letter.term == raft.term && raft.state != StateRole::Leader;
    let last = raft.raft_log.last_index();
    match letter.get_msg_type() {
        // The leader names what it knows this one to hold, and nothing beyond.
        MessageType::MsgHeartbeat if is_leaders && letter.commit > last => {
            Err(Loss::End { held: letter.commit, last })
        }
        MessageType::MsgAppend if is_leaders => check_decided(raft, letter),
        MessageType::MsgAppendResponse if leads_in(raft, letter.term) => {
            match !letter.reject && letter.index > last {
                true => {
                    let by = ControllerId(letter.from);
                    Err(Loss::Sent { by, held: letter.index, last })
                }
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn leads_in<S: Storage>(raft: &Raft<S>, term: u64) -> bool {
    raft.state == StateRole::Leader && raft.term == term
}

/// A leader holds all that was decided before it was elected: an entry that is decided here is the
/// same there.
fn check_decided<S: Storage>(raft: &Raft<S>, letter: &Message) -> Result<(), Loss> {
    let log = &raft.raft_log;
    let before = (letter.index, letter.log_term);
    let sent = letter.entries.iter().map(|entry| (entry.index, entry.term));
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
