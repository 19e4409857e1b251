//! Effects of applied entries: wakes node sessions and the scheduler. A wakeup lost in a crash is
//! made up for when the node reconnects.

use crate::core::Core;
use crate::session_registry::Wakeup;
use crate::state_machine::StateNews;
use common::id::NodeName;
use state::{Event, effect};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Runs until the log ends.
pub async fn forward_effects(core: Arc<Core>, mut news: mpsc::UnboundedReceiver<StateNews>) {
    while let Some(news) = news.recv().await {
        let applied = match news {
            StateNews::Applied(applied) => Arc::new(applied),
            // Its revocations and steps of the cluster key have no events here.
            StateNews::Restored(snapshot, at) => {
                core.event_feed.restart(snapshot, at);
                end_all_invalid_sessions(&core);
                core.keys.step.notify_one();
                continue;
            }
        };
        let batch = &applied.events[..];
        end_revoked_sessions(&core, batch);
        if batch.iter().any(|event| matches!(event, Event::KeyStepBegun { .. })) {
            core.keys.step.notify_one();
        }
        core.event_feed.publish(&core.state, &applied);
        core.sessions.wake_nodes(&effect::touched_nodes(batch));
        if core.state.read().services().next().is_some() {
            core.services_changed.notify_one();
        }
        if effect::wakes_scheduler(batch) {
            core.wake.notify_one();
        }
    }
}

/// Ends the connections and the sessions of nodes whose certificates became invalid.
fn end_revoked_sessions(core: &Core, batch: &[Event]) {
    for event in batch {
        match event {
            Event::NodeRevoked { name, .. } => end_node_session(core, name, u32::MAX),
            Event::NodeEnrolled { name, number, .. } => {
                end_node_session(core, name, number.saturating_sub(1))
            }
            _ => {}
        }
    }
}

/// The same for all certificates that the state knows as invalid.
fn end_all_invalid_sessions(core: &Core) {
    for (name, enrolment) in core.state.read().enrolments() {
        match enrolment.revoked {
            Some(_) => end_node_session(core, name, u32::MAX),
            None => end_node_session(core, name, enrolment.number.saturating_sub(1)),
        }
    }
}

fn end_node_session(core: &Core, name: &NodeName, last_invalid: u32) {
    if last_invalid > 0 {
        core.revocations.announce(name.as_str(), last_invalid);
        core.sessions.wake(name, Wakeup::Certificate);
    }
}
