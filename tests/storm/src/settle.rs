//! Messages and answers of a replica while it settles. Some messages are sent before its own disk
//! has written.

use crate::disk::StormDisk;
use crate::machine::SimMachine;
use crate::message::{Output, Ticket};
use replica::{Completion, LogError, ProposeError, Replica, Settled};
use state::Event;

/// Results of proposals and reads, each with its ticket.
pub type Answers = Vec<(Ticket, Result<Completion<Vec<Event>>, ProposeError>)>;

/// Settles a replica, as the daemon's thread does.
pub fn settle(
    replica: &mut Replica<SimMachine, StormDisk, Ticket>,
    outputs: &mut Vec<Output>,
) -> (Answers, Result<Settled, LogError>) {
    let mut answers = Vec::new();
    loop {
        let settled = replica.process_ready();
        let outbox = replica.take_outbox();
        answers.extend(outbox.answers);
        let messages = outbox.messages.into_iter();
        match settled {
            Ok(Settled::Sending) => outputs.extend(messages.map(Output::EarlyMessage)),
            settled => {
                outputs.extend(messages.map(Output::PeerMessage));
                return (answers, settled);
            }
        }
    }
}
