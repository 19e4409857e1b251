//! Effects of applied entries: wakes node sessions and the scheduler. A wakeup lost in a crash is
//! made up for when the node reconnects.

use crate::core::Core;
use state::{Event, effect};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Runs until the log ends.
pub async fn forward_effects(core: Arc<Core>, mut events: mpsc::UnboundedReceiver<Vec<Event>>) {
    while let Some(batch) = events.recv().await {
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
