//! Passes on what applied entries mean for others: nodes to nudge, the scheduler to wake.
//! Never holds anything back: a nudge lost in a crash is repeated by the node's next connect.

use crate::core::Core;
use state::{Event, effect};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Runs until the log ends.
pub async fn pass_on(core: Arc<Core>, mut events: mpsc::UnboundedReceiver<Vec<Event>>) {
    while let Some(batch) = events.recv().await {
        core.watched.tell(&core, &batch);
        core.hub.touch(&effect::touched_nodes(&batch));
        if effect::wakes_scheduler(&batch) {
            core.wake.notify_one();
        }
    }
}
