//! Rounds of a simulated leader, whose decisions enter the log part by part. `lead::Rounds`
//! decides.

use super::{AGAIN_MS, Lead, ROUND_PERIOD_MS};
use crate::message::Ticket;
use crate::sabotage::Sabotage;
use crate::wishes::Wishes;
use common::time::Time;
use state::{Event, State};

/// Number of starts in one log entry; a real controller has a larger number, and larger rounds.
const PART_STARTS: usize = 2;

impl Lead {
    pub(super) fn round(&mut self, now_ms: u64, now: Time, state: &State, wishes: &mut Wishes) {
        let untold = self.untold.replace(Vec::new());
        if self.sabotage == Some(Sabotage::SkipLedgerCheck) {
            // An old state: that of the previous round.
            let old = self.stale.replace(state.clone());
            self.rounds.catch_up(old.as_ref().unwrap_or(state), None, now);
        } else {
            self.rounds.catch_up(state, untold.as_deref(), now);
        }
        let promised = self.rounds.last().1.planned_starts.keys().copied().collect();
        let mut outcome = self.rounds.round(now);
        if self.sabotage == Some(Sabotage::BreakPromises) {
            self.break_promises(now, &promised, &mut outcome);
        }
        let violations = outcome.violations.iter();
        self.violations.extend(violations.map(ToString::to_string));
        self.round_at_ms = now_ms + ROUND_PERIOD_MS;
        if let Some(idle) = self.rounds.idle_for(now) {
            self.round_at_ms = now_ms + idle.0.clamp(AGAIN_MS, ROUND_PERIOD_MS);
        }
        if let Some(command) = outcome.command {
            self.parts = lead::split_round(command, PART_STARTS);
            self.propose_part(wishes);
        }
    }

    fn propose_part(&mut self, wishes: &mut Wishes) {
        let part = self.parts.pop_front();
        self.is_round_under_way = part.is_some();
        let since_ms = self.since_ms;
        wishes.commands.extend(part.map(|part| (part, Ticket::Round(since_ms))));
    }

    /// The last snapshot and result of its rounds, and when that was.
    pub fn last_round(&self) -> (&engine::Snapshot, &engine::Round, Time) {
        self.rounds.last()
    }

    /// Handles the result of one part of a round's decisions.
    pub fn enacted(
        &mut self,
        now_ms: u64,
        since_ms: u64,
        events: Option<&[Event]>,
        wishes: &mut Wishes,
    ) {
        if since_ms != self.since_ms {
            // The round belongs to an earlier term of this controller.
            return;
        }
        let refused = |event: &Event| matches!(event, Event::RoundEntryRefused { .. });
        match events {
            Some(events) if !events.iter().any(refused) => {}
            _ => {
                self.rounds.force_round();
                self.round_at_ms = now_ms + AGAIN_MS;
            }
        }
        if events.is_none() {
            self.parts.clear();
        }
        self.propose_part(wishes);
    }
}
