//! Who waits for which log entry, and is told what became of it. Never answers before the entry is
//! applied, or can no more be.

use crate::error::ProposeError;
use crate::outbox::{Outbox, Told};
use common::id::ControllerId;
use std::collections::VecDeque;

/// Who waits for one entry.
#[derive(Debug)]
pub(crate) enum Askers<T> {
    /// Of requests packed into it, in their order.
    Commands(Vec<T>),
    /// Of a change of members; with the id it gives out.
    Change(T, Option<ControllerId>),
}

/// What an applied entry led to.
pub(crate) enum Outcome<A> {
    Answers(Vec<A>),
    Changed,
}

struct Entry<T> {
    index: u64,
    term: u64,
    askers: Askers<T>,
}

/// Entries proposed and not yet applied, by rising index.
pub(crate) struct Waiting<T>(VecDeque<Entry<T>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Waiting<T> {
    /// Notes who waits for the entry proposed at an index in a term.
    pub fn push(&mut self, index: u64, term: u64, askers: Askers<T>) {
        self.0.push_back(Entry { index, term, askers });
    }

    /// Answers those who wait for an applied entry. An entry of another term took the place of
    /// theirs: what they asked for is in no log any more.
    pub fn answer<A>(
        &mut self,
        index: u64,
        term: u64,
        outcome: Outcome<A>,
        outbox: &mut Outbox<T, A>,
    ) {
        while let Some(entry) = self.0.pop_front_if(|entry| entry.index <= index) {
            if entry.index < index || entry.term != term {
                outbox.refuse(entry.askers.tickets(), &ProposeError::NotLeader);
                continue;
            }
            match (entry.askers, outcome) {
                (Askers::Commands(tickets), Outcome::Answers(answers)) => {
                    let told = answers.into_iter().map(|answer| Ok(Told::Applied(answer)));
                    outbox.answers.extend(tickets.into_iter().zip(told));
                }
                (Askers::Change(ticket, given), Outcome::Changed) => {
                    outbox.answers.push((ticket, Ok(Told::Changed(given))));
                }
                // The library puts an empty entry in the place of a change it does not take.
                (askers, _) => outbox.refuse(askers.tickets(), &ProposeError::NotLeader),
            }
            return;
        }
    }

    /// Tells all of them no.
    pub fn refuse_all<A>(&mut self, why: &ProposeError, outbox: &mut Outbox<T, A>) {
        for entry in self.0.drain(..) {
            outbox.refuse(entry.askers.tickets(), why);
        }
    }
}

impl<T> Askers<T> {
    fn tickets(self) -> Vec<T> {
        match self {
            Self::Commands(tickets) => tickets,
            Self::Change(ticket, _) => vec![ticket],
        }
    }
}
