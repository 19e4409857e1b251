//! Events as lines of text, for people and for tests that compare timelines.

use super::{Event, Growth, ShareNews};
use crate::timeline::user_phrase;
use common::id::{ReservationName, Uid};
use common::job::EndCause;
use common::time::Time;
use std::fmt;

impl fmt::Display for ShareNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preparing => write!(f, "prepares it"),
            Self::Ready => write!(f, "is ready"),
            Self::Running => write!(f, "runs it"),
            Self::Ended(cause, exit) => write!(f, "is done with it ({}, {exit})", word(*cause)),
        }
    }
}

const fn word(cause: EndCause) -> &'static str {
    match cause {
        EndCause::Exited => "exited",
        EndCause::TimedOut => "timed out",
        EndCause::Stopped => "stopped",
        EndCause::OutOfMemory => "out of memory",
        EndCause::LaunchFailed => "launch failed",
        EndCause::NodeFault => "node fault",
        EndCause::UnclearFault => "unclear fault",
        EndCause::Lost => "lost",
    }
}

/// One line per event. Events of a job begin with its key and continue as in its timeline.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(key), Some(line)) = (self.key(), self.timeline_event()) {
            return write!(f, "job {key}: {line}");
        }
        match self {
            Self::Configured => write!(f, "settings changed"),
            Self::JobSubmitted { job, tasks, repeated } => {
                write!(f, "job {job}: submitted")?;
                if *tasks > 1 {
                    write!(f, ", {tasks} tasks")?;
                }
                if *repeated { write!(f, " (repeated request)") } else { Ok(()) }
            }
            Self::StepReported { id, node, news } => write!(f, "job {}: {node} {news}", id.key),
            Self::JobStepsEnded { id, steps } => {
                write!(f, "job {}: {} steps ended", id.key, steps.len())
            }
            Self::RoundEntryRefused { id, reason } => {
                write!(f, "job {}: refused in a round: {reason}", id.key)
            }
            Self::JobGrowth { id, news: Growth::MayGrow } => {
                write!(f, "job {}: takes more nodes", id.key)
            }
            Self::JobGrowth { id, news: Growth::Ready { .. } } => {
                write!(f, "job {}: its additional nodes are ready", id.key)
            }
            Self::DependencyMoved { key } => {
                write!(f, "job {key}: its dependencies changed")
            }
            Self::JobForgotten { job } => write!(f, "job {job}: forgotten"),
            Self::NodeRegistered { name } => write!(f, "node {name}: connected"),
            Self::NodeSilent { name } => write!(f, "node {name}: silent"),
            Self::NodeLost { name } => write!(f, "node {name}: lost"),
            Self::NodeDrained { name, by, reason } => {
                write!(f, "node {name}: drained{}: {reason}", drained_by(*by))
            }
            Self::NodeResumed { name, by } => {
                write!(f, "node {name}: resumed by {}", user_phrase(*by))
            }
            Self::ReservationCreated { name } => write!(f, "reservation {name}: created"),
            Self::ReservationChanged { name, by } => reservation(f, name, "changed", *by),
            Self::ReservationDeleted { name, by } => reservation(f, name, "deleted", *by),
            Self::ReservationExpired { name } => write!(f, "reservation {name}: expired"),
            Self::ControllerInvited { by, until } => invited(f, *by, *until),
            Self::InvitationUsed { by, address } => joins(f, *by, address),
            Self::SubmitRefused { place, refusal } => {
                write!(f, "job {} of many refused: {refusal}", place + 1)
            }
            Self::CommandRefused(refusal) => write!(f, "refused: {refusal}"),
            // Handled above, by their timeline lines.
            Self::JobHeld { .. }
            | Self::JobReleased { .. }
            | Self::JobUpdated { .. }
            | Self::JobStarted { .. }
            | Self::JobReady { .. }
            | Self::JobRunning { .. }
            | Self::JobSuspended { .. }
            | Self::JobResumed { .. }
            | Self::JobSaved { .. }
            | Self::JobResized { .. }
            | Self::JobGrowth { .. }
            | Self::JobEnded { .. }
            | Self::JobPreempts { .. }
            | Self::JobEndChanged { .. }
            | Self::JobDone { .. }
            | Self::JobRequeued { .. }
            | Self::JobDelayed { .. }
            | Self::JobHeldForFaults { .. } => Ok(()),
        }
    }
}

/// Omits root, which also stands for the controller; the controller's reason says what it saw.
fn drained_by(by: Uid) -> String {
    if by == Uid(0) { String::new() } else { format!(" by {}", user_phrase(by)) }
}

fn reservation(
    f: &mut fmt::Formatter<'_>,
    name: &ReservationName,
    what: &str,
    by: Uid,
) -> fmt::Result {
    write!(f, "reservation {name}: {what} by {}", user_phrase(by))
}

fn invited(f: &mut fmt::Formatter<'_>, by: Uid, until: Time) -> fmt::Result {
    write!(f, "a controller may join until {until}: invited by {}", user_phrase(by))
}

fn joins(f: &mut fmt::Formatter<'_>, by: Uid, address: &str) -> fmt::Result {
    write!(f, "the controller at {address} joins, invited by {}", user_phrase(by))
}
