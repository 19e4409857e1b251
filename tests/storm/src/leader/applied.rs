//! Effects of applied entries on a leader's scheduler and node sessions.

use super::{Lead, WAKE_MS};
use crate::message::Output;
use crate::requests::Requests;
use common::id::NodeName;
use state::{Event, State, effect};

impl Lead {
    pub fn applied(
        &mut self,
        now_ms: u64,
        events: &[Vec<Event>],
        state: &State,
        requests: &mut Requests,
    ) {
        if !events.is_empty() && state.services().next().is_some() {
            self.services.notify();
        }
        for batch in events {
            self.trust_changed(batch, state, requests);
            if effect::wakes_scheduler(batch) {
                self.round_at_ms = self.round_at_ms.min(now_ms + WAKE_MS);
            }
            if let Some(pending_events) = &mut self.pending_events {
                pending_events.extend(batch.iter().cloned());
            }
            for node in effect::touched_nodes(batch) {
                self.send_desired(&node, state, requests);
            }
        }
    }

    fn send_desired(&mut self, node: &NodeName, state: &State, requests: &mut Requests) {
        let Some(link) = self.table.channel(node).copied() else { return };
        let live = self.sessions.get_mut(&link).and_then(|session| session.live.as_mut());
        let Some(live) = live else { return };
        let messages = live.compare_at_once(state, false).into_iter();
        requests.outputs.extend(messages.map(|message| Output::Down(link, Box::new(message))));
    }
}
