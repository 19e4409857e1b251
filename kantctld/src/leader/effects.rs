//! Effects of applied entries: wakes node sessions and the scheduler. A wakeup lost in a crash is
//! made up for when the node reconnects.

use crate::core::Core;
use crate::session_registry::Wakeup;
use state::{Event, effect};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Runs until the log ends.
pub async fn forward_effects(core: Arc<Core>, mut events: mpsc::UnboundedReceiver<Vec<Event>>) {
    while let Some(batch) = events.recv().await {
        end_revoked(&core, &batch);
        if batch.iter().any(|event| matches!(event, Event::KeyStepBegun { .. })) {
            core.keys.step.notify_one();
        }
        core.event_feed.publish(&core.state, core.now(), &batch);
        core.sessions.wake_nodes(&effect::touched_nodes(&batch));
        if core.state.read().services().next().is_some() {
            core.services_changed.notify_one();
        }
        if effect::wakes_scheduler(&batch) {
            core.wake.notify_one();
        }
    }
}

/// Ends the connections and the session of a node whose certificates became invalid.
fn end_revoked(core: &Core, batch: &[Event]) {
    for event in batch {
        let (name, last_invalid) = match event {
            Event::NodeRevoked { name, .. } => (name, u32::MAX),
            Event::NodeEnrolled { name, number, .. } if *number > 1 => (name, number - 1),
            _ => continue,
        };
        core.revocations.announce(name.as_str(), last_invalid);
        core.sessions.wake(name, Wakeup::Certificate);
    }
}
