//! Effects of applied entries on a leader's scheduler and node sessions.

use super::{Lead, WAKE_MS};
use crate::message::Output;
use crate::wishes::Wishes;
use common::id::NodeName;
use state::{Event, State, effect};

impl Lead {
    pub fn applied(
        &mut self,
        now_ms: u64,
        events: &[Vec<Event>],
        state: &State,
        wishes: &mut Wishes,
    ) {
        for batch in events {
            if effect::wakes_scheduler(batch) {
                self.round_at_ms = self.round_at_ms.min(now_ms + WAKE_MS);
            }
            if let Some(untold) = &mut self.untold {
                untold.extend(batch.iter().cloned());
            }
            for node in effect::touched_nodes(batch) {
                self.tell(&node, state, wishes);
            }
        }
    }

    fn tell(&mut self, node: &NodeName, state: &State, wishes: &mut Wishes) {
        let Some(link) = self.seats.channel(node).copied() else { return };
        let live = self.sessions.get_mut(&link).and_then(|session| session.live.as_mut());
        let Some(live) = live else { return };
        let messages = live.desired(state, false).into_iter();
        wishes.outputs.extend(messages.map(|message| Output::Down(link, Box::new(message))));
    }
}
