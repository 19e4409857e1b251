//! Injected bugs of a leader, each active only when it is named.

use super::{FENCE_MARGIN_MS, Lead, ROUND_PERIOD_MS};
use crate::message::Ticket;
use crate::mutants::Mutant;
use crate::requests::Requests;
use common::id::{JobKey, NodeName};
use common::node::Contact;
use common::time::{Span, Time};
use lead::timers::LOOK_PERIOD;
use lead::{Outcome, Presence};
use state::{Command, State};
use std::collections::{BTreeMap, BTreeSet};

/// How long a promised start is withheld.
const BROKEN_FOR: Span = Span::from_seconds(20);

/// For a mutant: for how long a controller has seen each node silent, in all its terms.
pub type Silences = BTreeMap<NodeName, Span>;

impl Lead {
    /// For a mutant: a controller that spoke to nodes before it led begins all other work of a
    /// leader.
    pub fn begin(&mut self, now_ms: u64) {
        self.round_at_ms = self.round_at_ms.min(now_ms + ROUND_PERIOD_MS);
        self.look_at_ms = self.look_at_ms.min(now_ms + ROUND_PERIOD_MS);
        self.services.notify();
    }

    /// For a mutant: continues the count of an earlier term.
    pub fn keep_watch_of(&mut self, earlier: Silences) {
        self.silences = earlier;
    }

    /// For a mutant: gives up nodes whose silences together, in all terms, last too long.
    pub(super) fn add_up_silences(&mut self, state: &State, requests: &mut Requests) {
        if self.mutant != Some(Mutant::StaleWatch) {
            return;
        }
        for (name, node) in state.nodes() {
            let is_silent = matches!(node.contact, Contact::Silent { .. });
            if !is_silent || self.table.presence(name) != Presence::Absent {
                continue;
            }
            let sum = self.silences.entry(name.clone()).or_default();
            *sum = *sum + LOOK_PERIOD;
            if *sum > self.fence_after + Span(FENCE_MARGIN_MS) {
                *sum = Span(0);
                let lost = Command::NodeLost { name: name.clone() };
                requests.commands.push((lost, Ticket::Unused));
            }
        }
    }

    /// For a mutant: withholds the starts that were promised from a round's command.
    pub(super) fn break_promises(
        &mut self,
        now: Time,
        promised: &BTreeSet<JobKey>,
        outcome: &mut Outcome,
    ) {
        let Some(Command::EnactRound { starts, preempts, shrinks, grows }) = &mut outcome.command
        else {
            return;
        };
        let until = now + BROKEN_FOR;
        starts.retain(|start| {
            let key = start.id.key;
            let is_broken = promised.contains(&key) || self.broken.contains_key(&key);
            !is_broken || *self.broken.entry(key).or_insert(until) <= now
        });
        let gives = !starts.is_empty() || !grows.is_empty();
        if !gives && preempts.is_empty() && shrinks.is_empty() {
            outcome.command = None;
        }
        self.rounds.force_round();
    }
}
