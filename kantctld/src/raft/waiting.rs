//! Who waits for which log entry, and is told what became of it. Never answers before the entry is
//! applied.

use super::Machine;
use super::handle::ProposeError;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// Where the answers to one entry's requests go, in their order.
pub type Answers<M> = Vec<oneshot::Sender<Result<<M as Machine>::Answer, ProposeError>>>;

/// Tells all of them no.
pub fn refuse<A>(answers: Vec<oneshot::Sender<Result<A, ProposeError>>>, why: &ProposeError) {
    for answer in answers {
        // Whoever asked may have gone away.
        let _ = answer.send(Err(why.clone()));
    }
}

/// One entry that was proposed.
struct Entry<M: Machine> {
    index: u64,
    term: u64,
    answers: Answers<M>,
}

/// Entries proposed and not yet applied, by rising index.
pub struct Waiting<M: Machine>(VecDeque<Entry<M>>);

impl<M: Machine> Default for Waiting<M> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<M: Machine> Waiting<M> {
    /// Notes who waits for the entry proposed at an index in a term.
    pub fn push(&mut self, index: u64, term: u64, answers: Answers<M>) {
        self.0.push_back(Entry { index, term, answers });
    }

    /// Answers those who wait for an applied entry. An entry of another term took the place of
    /// theirs: what they asked for never happened, or was proposed again by somebody else.
    pub fn answer(&mut self, index: u64, term: u64, results: Vec<M::Answer>) {
        while let Some(entry) = self.0.pop_front_if(|entry| entry.index <= index) {
            if entry.index < index || entry.term != term {
                refuse(entry.answers, &ProposeError::NotLeader);
                continue;
            }
            for (answer, result) in entry.answers.into_iter().zip(results) {
                // Whoever asked may have gone away.
                let _ = answer.send(Ok(result));
            }
            return;
        }
    }

    /// Tells all of them no.
    pub fn refuse_all(&mut self, why: &ProposeError) {
        self.0.drain(..).for_each(|entry| refuse(entry.answers, why));
    }
}
