//! Requests that wait for their log entry. They are answered once it is applied, or once it cannot
//! be applied any more.

use crate::error::ProposeError;
use crate::outbox::{Completion, Outbox};
use common::id::ControllerId;
use std::collections::VecDeque;

/// The callers of one entry.
#[derive(Debug)]
pub(crate) enum Callers<T> {
    /// Of the commands in it, in order.
    Commands(Vec<T>),
    /// Of a change of members; with the id of an added member.
    Change(T, Option<ControllerId>),
}

/// The result of an applied entry.
pub(crate) enum Outcome<A> {
    Answers(Vec<A>),
    Changed,
}

struct Entry<T> {
    index: u64,
    term: u64,
    callers: Callers<T>,
}

/// Entries proposed and not yet applied, in order of index.
pub(crate) struct PendingEntries<T>(VecDeque<Entry<T>>);

impl<T> Default for PendingEntries<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> PendingEntries<T> {
    /// Adds the callers of the entry proposed at this index and term.
    pub fn push(&mut self, index: u64, term: u64, callers: Callers<T>) {
        self.0.push_back(Entry { index, term, callers });
    }

    /// Answers the callers of an applied entry. If another term's entry has its index, their entry
    /// is in no log, and they are refused.
    pub fn answer<A>(
        &mut self,
        index: u64,
        term: u64,
        outcome: Outcome<A>,
        outbox: &mut Outbox<T, A>,
    ) {
        while let Some(entry) = self.0.pop_front_if(|entry| entry.index <= index) {
            if entry.index < index || entry.term != term {
                outbox.refuse(entry.callers.tickets(), &ProposeError::NotLeader);
                continue;
            }
            match (entry.callers, outcome) {
                (Callers::Commands(tickets), Outcome::Answers(answers)) => {
                    let completions =
                        answers.into_iter().map(|answer| Ok(Completion::Applied(answer)));
                    outbox.answers.extend(tickets.into_iter().zip(completions));
                }
                (Callers::Change(ticket, given), Outcome::Changed) => {
                    outbox.answers.push((ticket, Ok(Completion::Changed(given))));
                }
                // The library replaces a change that it refuses by an empty entry.
                (callers, _) => outbox.refuse(callers.tickets(), &ProposeError::NotLeader),
            }
            return;
        }
    }

    /// Refuses all requests.
    pub fn refuse_all<A>(&mut self, why: &ProposeError, outbox: &mut Outbox<T, A>) {
        for entry in self.0.drain(..) {
            outbox.refuse(entry.callers.tickets(), why);
        }
    }
}

impl<T> Callers<T> {
    fn tickets(self) -> Vec<T> {
        match self {
            Self::Commands(tickets) => tickets,
            Self::Change(ticket, _) => vec![ticket],
        }
    }
}
