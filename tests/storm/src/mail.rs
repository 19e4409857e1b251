//! What a replica sends while it settles: some of it before its own disk wrote. Never looks into a
//! letter.

use crate::disk::StormDisk;
use crate::machine::SimMachine;
use crate::message::{Output, Ticket};
use replica::{LogError, ProposeError, Replica, Settled, Told};
use state::Event;

/// Who asked, and what they are told.
pub type Answers = Vec<(Ticket, Result<Told<Vec<Event>>, ProposeError>)>;

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
        let letters = outbox.letters.into_iter();
        match settled {
            Ok(Settled::Sending) => outputs.extend(letters.map(Output::EarlyLetter)),
            settled => {
                outputs.extend(letters.map(Output::Letter));
                return (answers, settled);
            }
        }
    }
}
