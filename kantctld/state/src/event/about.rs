//! The job that an event concerns, and the event's line in that job's story.

use super::Event;
use crate::story::StoryEvent;
use common::hostlist;
use common::id::JobKey;

impl Event {
    /// The job or array task that the event concerns, if any.
    #[must_use]
    pub const fn key(&self) -> Option<JobKey> {
        match self {
            Self::JobHeld { key, .. }
            | Self::JobReleased { key, .. }
            | Self::JobUpdated { key, .. }
            | Self::JobDone { key, .. }
            | Self::JobRequeued { key, .. }
            | Self::JobDelayed { key, .. }
            | Self::JobPreempts { key, .. }
            | Self::JobHeldForFaults { key, .. } => Some(*key),
            Self::JobStarted { id, .. }
            | Self::StepReported { id, .. }
            | Self::JobStepsEnded { id, .. }
            | Self::JobReady { id, .. }
            | Self::JobRunning { id }
            | Self::JobSuspended { id, .. }
            | Self::JobResumed { id, .. }
            | Self::JobSaved { id, .. }
            | Self::JobResized { id, .. }
            | Self::JobGrowth { id, .. }
            | Self::JobEnded { id, .. }
            | Self::JobEndChanged { id, .. }
            | Self::RoundEntryRefused { id, .. } => Some(id.key),
            _ => None,
        }
    }

    /// The event's line in the story of [`Event::key`]; `None` if it is too small for one.
    #[must_use]
    pub fn story(&self) -> Option<StoryEvent> {
        Some(match self {
            Self::JobHeld { by, .. } => StoryEvent::Held(*by),
            Self::JobReleased { by, .. } => StoryEvent::Released(*by),
            Self::JobUpdated { by, what, .. } => StoryEvent::Asked { by: *by, what: what.clone() },
            Self::JobStarted { id, nodes } => {
                StoryEvent::Started { attempt: id.attempt, nodes: hostlist::fold(nodes) }
            }
            Self::JobReady { .. } => StoryEvent::Ready,
            Self::JobRunning { .. } => StoryEvent::Running,
            Self::JobSuspended { by, .. } => StoryEvent::Suspended(*by),
            Self::JobResumed { by, .. } => StoryEvent::Resumed(*by),
            Self::JobSaved { by, .. } => StoryEvent::Saved(*by),
            Self::JobResized { preempted: Some(preempted), tasks, stays, leaves, .. } => {
                StoryEvent::GaveUp {
                    preempted: *preempted,
                    tasks: *tasks,
                    stays: hostlist::fold(stays),
                    leaves: hostlist::fold(leaves),
                }
            }
            Self::JobResized { by, tasks, stays, leaves, .. } => StoryEvent::Resized {
                by: *by,
                tasks: *tasks,
                stays: hostlist::fold(stays),
                leaves: hostlist::fold(leaves),
            },
            Self::JobGrowth { news, .. } => return news.story(),
            Self::JobEnded { preempted: Some(preempted), requeue, .. } => {
                StoryEvent::MadeToYield { preempted: *preempted, requeue: *requeue }
            }
            Self::JobPreempts { victim, why, .. } => {
                StoryEvent::Preempts { victim: *victim, why: *why }
            }
            Self::JobEnded { outcome, exit, by, requeue, .. } => {
                let (outcome, exit, by, requeue) = (*outcome, *exit, *by, *requeue);
                StoryEvent::Ended { outcome, exit, by, requeue }
            }
            Self::JobEndChanged { outcome, by, requeue, .. } => {
                StoryEvent::EndChanged { outcome: *outcome, by: *by, requeue: *requeue }
            }
            Self::JobDone { outcome, by, .. } => StoryEvent::Done { outcome: *outcome, by: *by },
            Self::JobRequeued { attempt, preempted_by, .. } => {
                StoryEvent::Requeued { attempt: *attempt, preempted_by: *preempted_by }
            }
            Self::JobDelayed { until, why, .. } => {
                StoryEvent::Delayed { until: *until, why: why.clone() }
            }
            Self::JobHeldForFaults { in_a_row, why, .. } => {
                StoryEvent::HeldForFaults { in_a_row: *in_a_row, why: why.clone() }
            }
            _ => return None,
        })
    }
}
