//! Events as lines of text, for people and for tests that compare timelines.

use crate::timeline::{self, user_phrase};
use common::id::{AttemptId, JobKey, NodeName, ReservationName, Uid};
use common::job::EndCause;
use common::time::Time;
use state::Event;
use state::event::{Growth, ShareNews};
use state::ledger::StartRefusal;
use std::fmt;

/// One line for an event. The line of a job begins with its key and continues as in its timeline.
#[must_use]
pub fn line(event: &Event) -> String {
    Line(event).to_string()
}

/// The other job that an event of a job names.
#[must_use]
pub const fn other_job(event: &Event) -> Option<JobKey> {
    match event {
        Event::JobEnded { preempted, .. } | Event::JobResized { preempted, .. } => match preempted {
            Some(preempted) => Some(preempted.by),
            None => None,
        },
        Event::JobPreempts { victim, .. } => Some(victim.key),
        Event::JobRequeued { preempted_by, .. } => *preempted_by,
        Event::RoundEntryRefused { reason, .. } => match reason {
            StartRefusal::NoJobWaits(key) | StartRefusal::GroupBroken(key) => Some(*key),
            // They name nodes and amounts of the job itself.
            _ => None,
        },
        // Each is listed, so that a new event is thought about here.
        Event::JobSubmitted { .. }
        | Event::JobHeld { .. }
        | Event::JobReleased { .. }
        | Event::JobUpdated { .. }
        | Event::JobStarted { .. }
        | Event::StepReported { .. }
        | Event::JobStepsEnded { .. }
        | Event::JobReady { .. }
        | Event::JobRunning { .. }
        | Event::JobSuspended { .. }
        | Event::JobResumed { .. }
        | Event::JobSaved { .. }
        | Event::JobGrowth { .. }
        | Event::JobEndChanged { .. }
        | Event::JobDone { .. }
        | Event::JobDelayed { .. }
        | Event::JobHeldForFaults { .. }
        | Event::DependencyMoved { .. }
        | Event::JobForgotten { .. }
        // The rest is about no job. Where it may name one, readers who do not see all jobs do not
        // get it.
        | Event::Configured
        | Event::NodeRegistered { .. }
        | Event::NodeSilent { .. }
        | Event::NodeLost { .. }
        | Event::NodeDrained { .. }
        | Event::NodeResumed { .. }
        | Event::NodeDataChanged { .. }
        | Event::ReservationCreated { .. }
        | Event::ReservationChanged { .. }
        | Event::ReservationDeleted { .. }
        | Event::ReservationExpired { .. }
        | Event::ServiceChanged { .. }
        | Event::ServiceRemoved { .. }
        | Event::Invited { .. }
        | Event::InvitationUsed { .. }
        | Event::InvitationWithdrawn { .. }
        | Event::NodeEnrolled { .. }
        | Event::NodeRevoked { .. }
        | Event::RulesRaised { .. }
        | Event::KeyStepBegun { .. }
        | Event::TokenCreated { .. }
        | Event::TokenRevoked { .. }
        | Event::SubmitRefused { .. }
        | Event::CommandRefused(_) => None,
    }
}

/// The line of an event without the other job that it names, which is hidden.
#[must_use]
pub fn line_without_job(event: &Event) -> String {
    let line = line(event);
    let Some((about, rest)) = line.split_once(": ") else { return line };
    let rest = timeline::without_job(rest, other_job(event));
    format!("{about}: {rest}")
}

/// The progress of a node's share, as the predicate of a sentence about the node.
fn news_text(news: ShareNews) -> String {
    match news {
        ShareNews::Preparing => "prepares it".to_owned(),
        ShareNews::Ready => "is ready".to_owned(),
        ShareNews::Running => "runs it".to_owned(),
        ShareNews::Ended(cause, exit) => {
            format!("is done with it ({}, {exit})", end_cause_word(cause))
        }
    }
}

const fn end_cause_word(cause: EndCause) -> &'static str {
    match cause {
        EndCause::Exited => "exited",
        EndCause::TimedOut => "timed out",
        EndCause::Stopped => "stopped",
        EndCause::OutOfMemory => "out of memory",
        EndCause::NotLive => "not live",
        EndCause::LaunchFailed => "launch failed",
        EndCause::NodeFault => "node fault",
        EndCause::UnclearFault => "unclear fault",
        EndCause::Lost => "lost",
    }
}

struct Line<'a>(&'a Event);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(key), Some(line)) = (self.0.key(), self.0.timeline_event()) {
            return write!(f, "job {key}: {}", timeline::line(&line));
        }
        match self.0 {
            Event::Configured => write!(f, "settings changed"),
            Event::JobSubmitted { job, tasks, repeated } => {
                write!(f, "job {job}: submitted")?;
                if *tasks > 1 {
                    write!(f, ", {tasks} tasks")?;
                }
                if *repeated { write!(f, " (repeated request)") } else { Ok(()) }
            }
            Event::StepReported { id, node, news } => {
                write!(f, "job {}: {node} {}", id.key, news_text(*news))
            }
            Event::JobStepsEnded { id, steps } => {
                write!(f, "job {}: {} steps ended", id.key, steps.len())
            }
            Event::RoundEntryRefused { id, reason } => {
                write!(f, "job {}: refused in a round: {reason}", id.key)
            }
            Event::JobGrowth { id, news } => write_growth(f, *id, news),
            Event::DependencyMoved { key } => write!(f, "job {key}: its dependencies changed"),
            Event::JobForgotten { job } => write!(f, "job {job}: forgotten"),
            Event::NodeRegistered { .. }
            | Event::NodeSilent { .. }
            | Event::NodeLost { .. }
            | Event::NodeDrained { .. }
            | Event::NodeResumed { .. }
            | Event::NodeDataChanged { .. } => write_node(f, self.0),
            Event::ReservationCreated { name } => write!(f, "reservation {name}: created"),
            Event::ReservationChanged { name, by } => write_reservation(f, name, "changed", *by),
            Event::ReservationDeleted { name, by } => write_reservation(f, name, "deleted", *by),
            Event::ReservationExpired { name } => write!(f, "reservation {name}: expired"),
            Event::ServiceChanged { .. } | Event::ServiceRemoved { .. } => write_service(f, self.0),
            Event::Invited { .. }
            | Event::InvitationUsed { .. }
            | Event::InvitationWithdrawn { .. } => write_invitation(f, self.0),
            Event::NodeEnrolled { name, number, by } => write_enrolled(f, name, *number, *by),
            Event::NodeRevoked { name, by } => write_revoked(f, name, *by),
            Event::RulesRaised { .. } | Event::KeyStepBegun { .. } => write_common_step(f, self.0),
            Event::TokenCreated { .. } | Event::TokenRevoked { .. } => write_token(f, self.0),
            Event::SubmitRefused { place, refusal } => {
                write!(f, "job {} of many refused: {}", place + 1, refusal.text_with_hint())
            }
            Event::CommandRefused(refusal) => write!(f, "refused: {}", refusal.text_with_hint()),
            // Handled above, by their timeline lines.
            Event::JobHeld { .. }
            | Event::JobReleased { .. }
            | Event::JobUpdated { .. }
            | Event::JobStarted { .. }
            | Event::JobReady { .. }
            | Event::JobRunning { .. }
            | Event::JobSuspended { .. }
            | Event::JobResumed { .. }
            | Event::JobSaved { .. }
            | Event::JobResized { .. }
            | Event::JobEnded { .. }
            | Event::JobPreempts { .. }
            | Event::JobEndChanged { .. }
            | Event::JobDone { .. }
            | Event::JobRequeued { .. }
            | Event::JobDelayed { .. }
            | Event::JobHeldForFaults { .. } => Ok(()),
        }
    }
}

fn write_invitation(f: &mut fmt::Formatter<'_>, event: &Event) -> fmt::Result {
    match event {
        Event::Invited { by, until } => write_invited(f, *by, *until),
        Event::InvitationUsed { by, address } => write_joins(f, *by, address),
        Event::InvitationWithdrawn { id, by } => write_withdrawn(f, id, *by),
        _ => Ok(()),
    }
}

/// A step of all hosts together.
fn write_common_step(f: &mut fmt::Formatter<'_>, event: &Event) -> fmt::Result {
    match event {
        Event::RulesRaised { to } => write!(f, "controllers: rules level {to} is in force"),
        Event::KeyStepBegun { generation, by } => write_key_step(f, *generation, *by),
        _ => Ok(()),
    }
}

fn write_key_step(f: &mut fmt::Formatter<'_>, generation: u32, by: Option<Uid>) -> fmt::Result {
    match by {
        Some(by) => write!(f, "cluster key: step {generation} begun by {}", user_phrase(by)),
        None => write!(f, "cluster key: step {generation} begun"),
    }
}

/// Omits root, which also stands for the controller; the controller's reason says what it saw.
fn drained_by(by: Uid) -> String {
    if by == Uid(0) { String::new() } else { format!(" by {}", user_phrase(by)) }
}

fn write_growth(f: &mut fmt::Formatter<'_>, id: AttemptId, news: &Growth) -> fmt::Result {
    match news {
        Growth::MayGrow => write!(f, "job {}: takes more nodes", id.key),
        Growth::Ready { .. } => write!(f, "job {}: its additional nodes are ready", id.key),
        // It has a line in the timeline.
        _ => Ok(()),
    }
}

fn write_service(f: &mut fmt::Formatter<'_>, event: &Event) -> fmt::Result {
    match event {
        Event::ServiceChanged { name, revision } => {
            write!(f, "service {name}: changed, revision {revision}")
        }
        Event::ServiceRemoved { name } => write!(f, "service {name}: removed"),
        _ => Ok(()),
    }
}

fn write_node(f: &mut fmt::Formatter<'_>, event: &Event) -> fmt::Result {
    match event {
        Event::NodeRegistered { name } => write!(f, "node {name}: connected"),
        Event::NodeSilent { name } => write!(f, "node {name}: silent"),
        Event::NodeLost { name } => write!(f, "node {name}: lost"),
        Event::NodeDrained { name, by, reason } => {
            write!(f, "node {name}: drained{}: {reason}", drained_by(*by))
        }
        Event::NodeResumed { name, by } => {
            write!(f, "node {name}: resumed by {}", user_phrase(*by))
        }
        Event::NodeDataChanged { name } => write!(f, "node {name}: its data changed"),
        _ => Ok(()),
    }
}

fn write_reservation(
    f: &mut fmt::Formatter<'_>,
    name: &ReservationName,
    what: &str,
    by: Uid,
) -> fmt::Result {
    write!(f, "reservation {name}: {what} by {}", user_phrase(by))
}

fn write_withdrawn(f: &mut fmt::Formatter<'_>, id: &str, by: Uid) -> fmt::Result {
    write!(f, "invitation {id}: withdrawn by {}", user_phrase(by))
}

fn write_enrolled(
    f: &mut fmt::Formatter<'_>,
    name: &NodeName,
    number: u32,
    by: Uid,
) -> fmt::Result {
    write!(f, "node {name}: enrolled ({number}), invited by {}", user_phrase(by))
}

fn write_revoked(f: &mut fmt::Formatter<'_>, name: &NodeName, by: Uid) -> fmt::Result {
    write!(f, "node {name}: certificates revoked by {}", user_phrase(by))
}

fn write_token(f: &mut fmt::Formatter<'_>, event: &Event) -> fmt::Result {
    match event {
        Event::TokenCreated { id, uid, until } => {
            write!(f, "token {id} of {}: valid until {until}", user_phrase(*uid))
        }
        Event::TokenRevoked { id, uid, by } => {
            write!(f, "token {id} of {}: revoked by {}", user_phrase(*uid), user_phrase(*by))
        }
        // The caller passes no other event.
        _ => Ok(()),
    }
}

fn write_invited(f: &mut fmt::Formatter<'_>, by: Uid, until: Time) -> fmt::Result {
    write!(f, "a host may join until {until}: invited by {}", user_phrase(by))
}

fn write_joins(f: &mut fmt::Formatter<'_>, by: Uid, address: &str) -> fmt::Result {
    write!(f, "the controller at {address} joins, invited by {}", user_phrase(by))
}
