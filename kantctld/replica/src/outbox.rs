//! What a replica has for others: letters to send and answers to give. Never sends anything.

use crate::error::ProposeError;
use crate::letter::Letter;
use common::id::ControllerId;

/// What somebody who asked is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told<A> {
    /// A request was applied.
    Applied(A),
    /// A change of members is in force. With the id that was given, if one was.
    Changed(Option<ControllerId>),
    /// Everything acknowledged before the question is applied here: a look at the state is true.
    Fresh,
}

/// Letters and answers, in the order they came about. `T` is the asker's ticket.
#[derive(Debug)]
pub struct Outbox<T, A> {
    /// To carry; losing one is harmless.
    pub letters: Vec<Letter>,
    /// Each ticket is answered once.
    pub answers: Vec<(T, Result<Told<A>, ProposeError>)>,
}

impl<T, A> Default for Outbox<T, A> {
    fn default() -> Self {
        Self { letters: Vec::new(), answers: Vec::new() }
    }
}

impl<T, A> Outbox<T, A> {
    pub(crate) fn refuse(&mut self, tickets: impl IntoIterator<Item = T>, why: &ProposeError) {
        self.answers.extend(tickets.into_iter().map(|ticket| (ticket, Err(why.clone()))));
    }
}
