//! What the leader does about events: the nodes to notify, and whether to run a round. If a leader
//! misses an event, nothing is lost: nodes get their whole desired state when they connect, and
//! rounds also run periodically.

use crate::event::{Event, ShareNews};
use common::id::NodeName;
use std::collections::BTreeSet;

/// The nodes whose desired state may have changed.
#[must_use]
pub fn touched_nodes(events: &[Event]) -> BTreeSet<NodeName> {
    let mut touched = BTreeSet::new();
    for event in events {
        match event {
            Event::JobStarted { nodes, .. }
            | Event::JobReady { nodes, .. }
            | Event::JobSuspended { nodes, .. }
            | Event::JobResumed { nodes, .. }
            | Event::JobResized { nodes, .. }
            | Event::JobUpdated { nodes, .. }
            | Event::JobEnded { nodes, .. } => touched.extend(nodes.iter().cloned()),
            Event::JobGrowth { news, .. } => touched.extend(news.touches().iter().cloned()),
            Event::StepReported { node, news: ShareNews::Ended(..), .. } => {
                touched.insert(node.clone());
            }
            Event::NodeRegistered { name } | Event::NodeLost { name } => {
                touched.insert(name.clone());
            }
            _ => {}
        }
    }
    touched
}

/// Whether a round may now decide something else, or give other reasons to wait.
#[must_use]
pub fn wakes_scheduler(events: &[Event]) -> bool {
    events.iter().any(|event| match event {
        Event::JobSubmitted { repeated, .. } => !repeated,
        Event::StepReported { news, .. } => matches!(news, ShareNews::Ended(..)),
        Event::JobGrowth { news, .. } => news.wakes_scheduler(),
        Event::Configured
        | Event::JobHeld { .. }
        | Event::JobReleased { .. }
        | Event::JobUpdated { .. }
        | Event::DependencyMoved { .. }
        | Event::JobSuspended { .. }
        | Event::JobResumed { .. }
        | Event::JobSaved { .. }
        | Event::JobResized { .. }
        | Event::JobDone { .. }
        | Event::JobRequeued { .. }
        | Event::JobDelayed { .. }
        | Event::JobHeldForFaults { .. }
        | Event::NodeRegistered { .. }
        | Event::NodeSilent { .. }
        | Event::NodeLost { .. }
        | Event::NodeDrained { .. }
        | Event::NodeResumed { .. }
        | Event::ReservationCreated { .. }
        | Event::ReservationChanged { .. }
        | Event::ReservationDeleted { .. }
        | Event::ReservationExpired { .. }
        | Event::RoundEntryRefused { .. } => true,
        Event::JobStarted { .. }
        | Event::NodeDataChanged { .. }
        | Event::JobStepsEnded { .. }
        | Event::JobReady { .. }
        | Event::JobRunning { .. }
        | Event::JobEnded { .. }
        | Event::JobPreempts { .. }
        | Event::JobEndChanged { .. }
        | Event::JobForgotten { .. }
        | Event::ServiceChanged { .. }
        | Event::ServiceRemoved { .. }
        | Event::Invited { .. }
        | Event::InvitationWithdrawn { .. }
        | Event::NodeEnrolled { .. }
        | Event::NodeRevoked { .. }
        | Event::RulesRaised { .. }
        | Event::KeyStepBegun { .. }
        | Event::InvitationUsed { .. }
        | Event::TokenCreated { .. }
        | Event::TokenRevoked { .. }
        | Event::SubmitRefused { .. }
        | Event::CommandRefused(_) => false,
    })
}
