//! The job that an event concerns, and the event's line in that job's timeline.

use super::Event;
use crate::timeline::TimelineEvent;
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

    /// The event's line in the timeline of [`Event::key`]; `None` if it is too small for one.
    #[must_use]
    pub fn timeline_event(&self) -> Option<TimelineEvent> {
        Some(match self {
            Self::JobHeld { by, .. } => TimelineEvent::Held(*by),
            Self::JobReleased { by, .. } => TimelineEvent::Released(*by),
            Self::JobUpdated { by, what, .. } => {
                TimelineEvent::Asked { by: *by, what: what.clone() }
            }
            Self::JobStarted { id, nodes } => {
                TimelineEvent::Started { attempt: id.attempt, nodes: hostlist::compress(nodes) }
            }
            Self::JobReady { .. } => TimelineEvent::Ready,
            Self::JobRunning { .. } => TimelineEvent::Running,
            Self::JobSuspended { by, .. } => TimelineEvent::Suspended(*by),
            Self::JobResumed { by, .. } => TimelineEvent::Resumed(*by),
            Self::JobSaved { by, .. } => TimelineEvent::Saved(*by),
            Self::JobResized { preempted: Some(preempted), tasks, stays, leaves, .. } => {
                TimelineEvent::GaveUp {
                    preempted: *preempted,
                    tasks: *tasks,
                    stays: hostlist::compress(stays),
                    leaves: hostlist::compress(leaves),
                }
            }
            Self::JobResized { by, tasks, stays, leaves, .. } => TimelineEvent::Resized {
                by: *by,
                tasks: *tasks,
                stays: hostlist::compress(stays),
                leaves: hostlist::compress(leaves),
            },
            Self::JobGrowth { news, .. } => return news.timeline_event(),
            Self::JobEnded { preempted: Some(preempted), requeue, .. } => {
                TimelineEvent::MadeToYield { preempted: *preempted, requeue: *requeue }
            }
            Self::JobPreempts { victim, why, .. } => {
                TimelineEvent::Preempts { victim: *victim, why: *why }
            }
            Self::JobEnded { outcome, exit, by, requeue, .. } => {
                let (outcome, exit, by, requeue) = (*outcome, *exit, *by, *requeue);
                TimelineEvent::Ended { outcome, exit, by, requeue }
            }
            Self::JobEndChanged { outcome, by, requeue, .. } => {
                TimelineEvent::EndChanged { outcome: *outcome, by: *by, requeue: *requeue }
            }
            Self::JobDone { outcome, by, .. } => TimelineEvent::Done { outcome: *outcome, by: *by },
            Self::JobRequeued { attempt, preempted_by, .. } => {
                TimelineEvent::Requeued { attempt: *attempt, preempted_by: *preempted_by }
            }
            Self::JobDelayed { until, why, .. } => {
                TimelineEvent::Delayed { until: *until, why: why.clone() }
            }
            Self::JobHeldForFaults { in_a_row, why, .. } => {
                TimelineEvent::HeldForFaults { in_a_row: *in_a_row, why: why.clone() }
            }
            _ => return None,
        })
    }
}
