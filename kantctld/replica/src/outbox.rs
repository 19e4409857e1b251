//! The output of a replica: messages to send and answers to give.

use crate::error::ProposeError;
use crate::peer_message::PeerMessage;
use common::id::ControllerId;

/// The successful outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion<A> {
    /// A command was applied.
    Applied(A),
    /// A change of members is in force; with the id of an added member.
    Changed(Option<ControllerId>),
    /// Everything acknowledged before the request is applied here.
    Fresh,
}

/// Messages and answers in order. `T` identifies a caller.
#[derive(Debug)]
pub struct Outbox<T, A> {
    /// To be sent; losing one is harmless.
    pub messages: Vec<PeerMessage>,
    /// One answer for each ticket.
    pub answers: Vec<(T, Result<Completion<A>, ProposeError>)>,
}

impl<T, A> Default for Outbox<T, A> {
    fn default() -> Self {
        Self { messages: Vec::new(), answers: Vec::new() }
    }
}

impl<T, A> Outbox<T, A> {
    pub(crate) fn refuse(&mut self, tickets: impl IntoIterator<Item = T>, why: &ProposeError) {
        self.answers.extend(tickets.into_iter().map(|ticket| (ticket, Err(why.clone()))));
    }
}
