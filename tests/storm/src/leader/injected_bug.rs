//! Injected bugs of a leader, each active only when it is named.

use super::{Lead, ROUND_PERIOD_MS};
use common::id::JobKey;
use common::time::{Span, Time};
use lead::{Outcome, Watch};
use state::Command;
use std::collections::BTreeSet;

/// How long a promised start is withheld.
const BROKEN_FOR: Span = Span::from_seconds(20);

impl Lead {
    /// For a mutant: a controller that spoke to nodes before it led begins all other work of a
    /// leader.
    pub fn begin(&mut self, now_ms: u64) {
        self.round_at_ms = self.round_at_ms.min(now_ms + ROUND_PERIOD_MS);
        self.look_at_ms = self.look_at_ms.min(now_ms + ROUND_PERIOD_MS);
        self.services.notify();
    }

    /// For a mutant: continues the watch of an earlier term.
    pub fn keep_watch_of(&mut self, earlier: Watch) {
        self.watch = earlier;
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
