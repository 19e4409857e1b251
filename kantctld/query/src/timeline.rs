//! The lines of a job's timeline as text, which `kantctl show` prints.

mod growth;

use common::id::{JobKey, Uid};
use common::job::Outcome;
use common::job::{JobSize, Preempted};
use state::timeline::TimelineEvent;
use std::fmt;

/// The line of an event in a timeline, without its time.
#[must_use]
pub fn line(event: &TimelineEvent) -> String {
    Line(event).to_string()
}

/// The same without the other job that the event names, which is hidden.
#[must_use]
pub fn line_without_job(event: &TimelineEvent) -> String {
    without_job(&line(event), other_job(event))
}

/// A line with general words for a job that it names.
pub(crate) fn without_job(text: &str, named: Option<JobKey>) -> String {
    match named {
        Some(key) => text.replacen(&format!("job {key}"), "another job", 1),
        None => text.to_owned(),
    }
}

/// The line of [`TimelineEvent::Hopeless`] without what became of the jobs that it waited for.
pub const HOPELESS: &str = "cancelled, as requested with --kill-on-invalid-dep: its dependency can \
                            no longer be satisfied";

/// The other job that an event names: one that preempts the job or is preempted by it, or the last
/// that it waited for.
#[must_use]
pub const fn other_job(event: &TimelineEvent) -> Option<JobKey> {
    match event {
        TimelineEvent::GaveUp { preempted, .. } | TimelineEvent::MadeToYield { preempted, .. } => {
            Some(preempted.by)
        }
        TimelineEvent::Preempts { victim, .. } => Some(victim.key),
        TimelineEvent::Requeued { preempted_by, .. } => *preempted_by,
        TimelineEvent::Unblocked { by } => Some(*by),
        TimelineEvent::Held(_)
        | TimelineEvent::Released(_)
        | TimelineEvent::Asked { .. }
        | TimelineEvent::Started { .. }
        | TimelineEvent::Ready
        | TimelineEvent::Running
        | TimelineEvent::Suspended(_)
        | TimelineEvent::Resumed(_)
        | TimelineEvent::Saved(_)
        | TimelineEvent::Resized { .. }
        | TimelineEvent::Grows { .. }
        | TimelineEvent::Grew { .. }
        | TimelineEvent::DidNotGrow { .. }
        | TimelineEvent::Ended { .. }
        | TimelineEvent::EndChanged { .. }
        | TimelineEvent::Done { .. }
        | TimelineEvent::Delayed { .. }
        | TimelineEvent::HeldForFaults { .. }
        // The caller has a line of its own for it: it may name several.
        | TimelineEvent::Hopeless { .. } => None,
    }
}

struct Line<'a>(&'a TimelineEvent);

/// A user as part of a sentence. Only the uid is known, except for root.
pub fn user_phrase(uid: Uid) -> String {
    match uid {
        Uid(0) => "root".to_owned(),
        _ => format!("user {uid}"),
    }
}

/// Appends the reason, if there is one.
fn write_reason(f: &mut fmt::Formatter<'_>, why: Option<&String>) -> fmt::Result {
    why.map_or(Ok(()), |why| write!(f, " ({why})"))
}

fn write_end(
    f: &mut fmt::Formatter<'_>,
    outcome: Outcome,
    by: Option<Uid>,
    requeue: bool,
) -> fmt::Result {
    match (by, requeue) {
        (Some(uid), true) => write!(f, "stopped by {}, to be requeued", user_phrase(uid)),
        (Some(uid), false) => write!(f, "cancelled by {}", user_phrase(uid)),
        (None, true) => write!(f, "ended as {outcome}, to be requeued"),
        (None, false) => write!(f, "ended as {outcome}"),
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TimelineEvent::Held(by) => write!(f, "held by {}", user_phrase(*by)),
            TimelineEvent::Released(by) => write!(f, "released by {}", user_phrase(*by)),
            TimelineEvent::Asked { by, what } => {
                write!(f, "changed by {}: {what}", user_phrase(*by))
            }
            TimelineEvent::Started { attempt, nodes } => {
                write!(f, "attempt {attempt} started on {nodes}")
            }
            TimelineEvent::Ready => write!(f, "all its nodes are ready"),
            TimelineEvent::Running => write!(f, "running"),
            TimelineEvent::Suspended(by) => write!(f, "suspended by {}", user_phrase(*by)),
            TimelineEvent::Resumed(by) => write!(f, "resumed by {}", user_phrase(*by)),
            TimelineEvent::Saved(by) => write!(f, "checkpoint recorded by {}", user_phrase(*by)),
            TimelineEvent::Resized { by, tasks, stays, leaves } => {
                let size = JobSize::Tasks(*tasks);
                write!(f, "resized by {} to {size} on {stays}: {leaves} given up", user_phrase(*by))
            }
            TimelineEvent::GaveUp { preempted: Preempted { by, why }, tasks, stays, leaves } => {
                write!(f, "gives up {leaves} for job {by} ({why}), continues with ")?;
                write!(f, "{} on {stays}", JobSize::Tasks(*tasks))
            }
            TimelineEvent::Grows { .. }
            | TimelineEvent::Grew { .. }
            | TimelineEvent::DidNotGrow { .. } => growth::show(f, self.0),
            TimelineEvent::Ended { outcome, exit, by, requeue } => {
                write_end(f, *outcome, *by, *requeue)?;
                exit.map_or(Ok(()), |exit| write!(f, " (exit {exit})"))
            }
            TimelineEvent::EndChanged { outcome, by, requeue } => {
                write!(f, "its end was changed: ")?;
                write_end(f, *outcome, *by, *requeue)
            }
            TimelineEvent::Done { outcome, by: None } => write!(f, "done: {outcome}"),
            TimelineEvent::Done { outcome, by: Some(by) } => {
                write!(f, "done: {outcome} by {}", user_phrase(*by))
            }
            TimelineEvent::MadeToYield { preempted: Preempted { by, why }, requeue } => {
                let then = if *requeue { ", to be requeued" } else { "" };
                write!(f, "preempted by job {by} ({why}){then}")
            }
            TimelineEvent::Preempts { victim, why } => {
                write!(f, "preempts job {} ({why})", victim.key)
            }
            TimelineEvent::Requeued { attempt, preempted_by: None } => {
                write!(f, "requeued after attempt {attempt}")
            }
            TimelineEvent::Requeued { attempt, preempted_by: Some(by) } => {
                write!(f, "requeued after preemption of attempt {attempt} by job {by}")
            }
            TimelineEvent::Delayed { until, why } => {
                write!(f, "not restarted before {until}")?;
                write_reason(f, why.as_ref())
            }
            TimelineEvent::Unblocked { by } => {
                write!(f, "all its dependencies are satisfied, the last by job {by}; it may start")
            }
            TimelineEvent::Hopeless { why } => {
                write!(f, "cancelled, as requested with --kill-on-invalid-dep: {why}")
            }
            TimelineEvent::HeldForFaults { in_a_row, why } => {
                let failed = "that failed for no fault of its own";
                write!(f, "held after {in_a_row} attempts in a row {failed}")?;
                why.as_ref().map_or(Ok(()), |why| write!(f, "; the last: {why}"))
            }
        }
    }
}
