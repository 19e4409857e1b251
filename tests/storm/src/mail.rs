//! What a replica sends while it settles: some of it before its own disk wrote. Never looks into a
//! letter.

use crate::disk::StormDisk;
use crate::machine::SimMachine;
use crate::message::{Output, Ticket};
use replica::{Completion, LogError, ProposeError, Replica, Settled};
use state::Event;

/// Who asked, and what they are told.
pub type Answers = Vec<(Ticket, Result<Completion<Vec<Event>>, ProposeError>)>;

/// Lets a replica settle, as the daemon's thread does.
pub fn settle(
    replica: &mut Replica<SimMachine, StormDisk, Ticket>,
    outputs: &mut Vec<Output>,
) -> (Answers, Result<Settled, LogError>) {
    let mut answers = Vec::new();
    loop {
        let settled = replica.settle();
        let outbox = replica.take_outbox();
        answers.extend(outbox.answers);
        let letters = outbox.messages.into_iter();
        match settled {
            Ok(Settled::Sending) => outputs.extend(letters.map(Output::EarlyLetter)),
            settled => {
                outputs.extend(letters.map(Output::PeerMessage));
                return (answers, settled);
            }
        }
    }
}
