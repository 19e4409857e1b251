//! Linearizable reads: a majority confirms that this controller still leads, and everything
//! committed until then is applied first. No clock is involved.
//!
//! Source: D. Ongaro, "Consensus: bridging theory and practice", 2014, section 6.4.

use super::Replica;
use crate::error::ProposeError;
use crate::machine::Machine;
use crate::outbox::{Completion, Outbox};
use raft::ReadState;
use std::collections::BTreeMap;
use wal::Disk;

/// The pending reads.
pub(super) struct Reads<T> {
    next: u64,
    /// By the number of the request to the majority.
    asked: BTreeMap<u64, Vec<T>>,
    /// By the entry to be applied first.
    confirmed: BTreeMap<u64, Vec<T>>,
}

impl<T> Default for Reads<T> {
    fn default() -> Self {
        Self { next: 0, asked: BTreeMap::new(), confirmed: BTreeMap::new() }
    }
}

impl<T> Reads<T> {
    pub fn confirm(&mut self, states: Vec<ReadState>) {
        for state in states {
            let number = <[u8; 8]>::try_from(state.request_ctx.as_slice()).map(u64::from_le_bytes);
            let tickets = number.ok().and_then(|number| self.asked.remove(&number));
            self.confirmed.entry(state.index).or_default().extend(tickets.unwrap_or_default());
        }
    }

    pub fn answer<A>(&mut self, applied: u64, outbox: &mut Outbox<T, A>) {
        while let Some(first) = self.confirmed.first_entry().filter(|e| *e.key() <= applied) {
            outbox.answers.extend(first.remove().into_iter().map(|t| (t, Ok(Completion::Fresh))));
        }
    }

    pub fn refuse_all<A>(&mut self, why: &ProposeError, outbox: &mut Outbox<T, A>) {
        let asked = std::mem::take(&mut self.asked).into_values();
        let confirmed = std::mem::take(&mut self.confirmed).into_values();
        outbox.refuse(asked.chain(confirmed).flatten(), why);
    }
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Requests a linearizable read: [`Completion::Fresh`] follows once this replica has applied
    /// everything acknowledged, by any controller, before the request.
    pub fn read(&mut self, tickets: Vec<T>) {
        if !self.leading {
            return self.outbox.refuse(tickets, &ProposeError::NotLeader);
        }
        if self.is_blocked() {
            return self.outbox.refuse(tickets, &ProposeError::Busy);
        }
        self.reads.next += 1;
        let number = self.reads.next;
        self.reads.asked.insert(number, tickets);
        self.node.read_index(number.to_le_bytes().to_vec());
    }
}
