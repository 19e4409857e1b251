//! A job's story: what happened to it, kept with the job, shown by `kantctl show`.
//! Small on purpose: names of many nodes are folded, and old lines give way to new ones.
//! Never decides anything; nothing reads a story but people.

mod growth;

use common::id::{Attempt, AttemptId, JobKey, NodeName, Uid};
use common::job::{ExitStatus, JobSize, Outcome, Patch, PreemptReason, Preempted};
use common::time::Time;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A story keeps its latest lines only: a job requeued for ever must not fill the memory.
pub const STORY_LINES_MAX: usize = 64;

/// One line of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryLine {
    pub at: Time,
    pub what: StoryEvent,
}

/// What can stand in a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoryEvent {
    /// It was accepted from this user, for whom this node vouched, if one did. Stands in no story;
    /// shown from the record's own fields.
    Submitted(String, Option<NodeName>),
    Held(Uid),
    /// Somebody let it go.
    Released(Uid),
    /// Somebody changed what it asks for.
    /// Stands only in stories of builds that did not keep what.
    Updated(Uid),
    /// Somebody changed this of what it asks for.
    /// Stands only in stories of builds that kept the change itself, however long.
    Changed {
        by: Uid,
        patch: Box<Patch>,
    },
    /// Somebody changed what it asks for.
    Asked {
        by: Uid,
        /// What is otherwise, in words ([`Patch::told`]).
        what: String,
    },
    /// It was given nodes.
    Started {
        /// Which attempt this is.
        attempt: Attempt,
        /// Its nodes, folded: `g[001-064]`.
        nodes: String,
    },
    /// All nodes of its gang are ready.
    Ready,
    /// All its nodes run it.
    Running,
    /// Somebody let it stand still.
    Suspended(Uid),
    /// Somebody let it go on.
    Resumed(Uid),
    /// Somebody said that all its work so far is saved. Of several in a row the last stands.
    Saved(Uid),
    /// Somebody gave it another size.
    Resized {
        by: Uid,
        /// It goes on with so many tasks.
        tasks: Tasks,
        /// On these nodes, folded.
        stays: String,
        /// These are to let go of it, folded.
        leaves: String,
    },
    /// It had to give nodes up for another job, and runs on.
    GaveUp {
        /// For whom, and why.
        preempted: Preempted,
        /// It goes on with so many tasks.
        tasks: Tasks,
        /// On these nodes, folded.
        stays: String,
        /// These are to let go of it, folded.
        leaves: String,
    },
    /// It is given nodes, folded, which make ready for it.
    Grows {
        joins: String,
    },
    /// It has the nodes that it was given.
    Grew {
        /// It has so many tasks now.
        tasks: Tasks,
        /// On these nodes, folded.
        has: String,
        /// Those of them that joined it, folded.
        joined: String,
    },
    /// Nodes that it was given do not join it.
    DidNotGrow {
        leaves: String,
        /// Why, if the first of them said so.
        why: Option<String>,
    },
    /// Its end was decided.
    Ended {
        outcome: Outcome,
        /// How the deciding node's share exited.
        exit: Option<ExitStatus>,
        /// Who asked for it, if somebody did.
        by: Option<Uid>,
        /// Will it go back to its queue?
        requeue: bool,
    },
    /// It has to make room.
    MadeToYield {
        /// For whom, and why.
        preempted: Preempted,
        /// Will it go back to its queue?
        requeue: bool,
    },
    /// It makes another job yield.
    Preempts {
        victim: AttemptId,
        why: PreemptReason,
    },
    /// Another end was decided before the first was carried out.
    EndChanged {
        outcome: Outcome,
        /// Who asked for it, if somebody did.
        by: Option<Uid>,
        /// Will it go back to its queue?
        requeue: bool,
    },
    Done {
        outcome: Outcome,
        /// Who asked for it, if it was cancelled before it started.
        by: Option<Uid>,
    },
    /// It waits again, for another attempt.
    Requeued {
        /// The attempt that is behind it.
        attempt: Attempt,
        /// It had been made to yield to this one.
        #[serde(default)]
        preempted_by: Option<JobKey>,
    },
    /// Its next attempt waits a while, after a fault not its own.
    Delayed {
        until: Time,
        /// What was wrong, if its node said so.
        why: Option<String>,
    },
    /// All that it waited for of other jobs has come.
    Unblocked {
        /// The last that moved.
        by: JobKey,
    },
    /// What it waits for of other jobs cannot come any more, and it asked to be cancelled then.
    Hopeless {
        why: String,
    },
    /// It is held, after too many faults not its own.
    HeldForFaults {
        /// So many attempts in a row.
        in_a_row: u32,
        /// What was wrong with the last, if its node said so.
        why: Option<String>,
    },
}

/// A user in a sentence. Only the number is known; root's needs no looking up.
pub(crate) fn who(uid: Uid) -> String {
    match uid {
        Uid(0) => "root".to_owned(),
        _ => format!("user {uid}"),
    }
}

/// What was wrong, after what came of it.
fn because(f: &mut fmt::Formatter<'_>, why: Option<&String>) -> fmt::Result {
    why.map_or(Ok(()), |why| write!(f, " ({why})"))
}

fn end(
    f: &mut fmt::Formatter<'_>,
    outcome: Outcome,
    by: Option<Uid>,
    requeue: bool,
) -> fmt::Result {
    match (by, requeue) {
        (Some(uid), true) => write!(f, "stopped by {}, to be requeued", who(uid)),
        (Some(uid), false) => write!(f, "cancelled by {}", who(uid)),
        (None, true) => write!(f, "ended as {outcome}, to be requeued"),
        (None, false) => write!(f, "ended as {outcome}"),
    }
}

impl fmt::Display for StoryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submitted(by, None) => write!(f, "submitted by {by}"),
            Self::Submitted(by, Some(node)) => write!(f, "submitted by {by} via {node}"),
            Self::Held(by) => write!(f, "held by {}", who(*by)),
            Self::Released(by) => write!(f, "released by {}", who(*by)),
            Self::Updated(by) => write!(f, "what it asks for was changed by {}", who(*by)),
            Self::Changed { by, patch } => write!(f, "changed by {}: {}", who(*by), patch.text()),
            Self::Asked { by, what } => write!(f, "changed by {}: {what}", who(*by)),
            Self::Started { attempt, nodes } => write!(f, "attempt {attempt} started on {nodes}"),
            Self::Ready => write!(f, "all its nodes are ready"),
            Self::Running => write!(f, "running"),
            Self::Suspended(by) => write!(f, "suspended by {}", who(*by)),
            Self::Resumed(by) => write!(f, "resumed by {}", who(*by)),
            Self::Saved(by) => write!(f, "its work so far is saved, says {}", who(*by)),
            Self::Resized { by, tasks, stays, leaves } => {
                let size = JobSize::Tasks(*tasks);
                write!(f, "resized by {} to {size} on {stays}: {leaves} given up", who(*by))
            }
            Self::GaveUp { preempted: Preempted { by, why }, tasks, stays, leaves } => {
                let size = JobSize::Tasks(*tasks);
                write!(
                    f,
                    "gives {leaves} up for job {by} ({why}), and runs on with {size} on {stays}"
                )
            }
            Self::Grows { .. } | Self::Grew { .. } | Self::DidNotGrow { .. } => {
                growth::show(f, self)
            }
            Self::Ended { outcome, exit, by, requeue } => {
                end(f, *outcome, *by, *requeue)?;
                exit.map_or(Ok(()), |exit| write!(f, " (exit {exit})"))
            }
            Self::EndChanged { outcome, by, requeue } => {
                write!(f, "its end was changed: ")?;
                end(f, *outcome, *by, *requeue)
            }
            Self::Done { outcome, by: None } => write!(f, "done: {outcome}"),
            Self::Done { outcome, by: Some(by) } => write!(f, "done: {outcome} by {}", who(*by)),
            Self::MadeToYield { preempted: Preempted { by, why }, requeue } => {
                let then = if *requeue { ", to be requeued" } else { "" };
                write!(f, "made to yield to job {by} ({why}){then}")
            }
            Self::Preempts { victim, why } => write!(f, "makes job {} yield ({why})", victim.key),
            Self::Requeued { attempt, preempted_by: None } => {
                write!(f, "back in its queue after attempt {attempt}")
            }
            Self::Requeued { attempt, preempted_by: Some(by) } => {
                write!(f, "requeued after preemption of attempt {attempt} by job {by}")
            }
            Self::Delayed { until, why } => {
                write!(f, "not started again before {until}")?;
                because(f, why.as_ref())
            }
            Self::Unblocked { by } => {
                write!(f, "what it waited for has come, with job {by}; it may start")
            }
            Self::Hopeless { why } => {
                write!(f, "cancelled, as requested with --kill-on-invalid-dep: {why}")
            }
            Self::HeldForFaults { in_a_row, why } => {
                let failed = "that failed for no fault of its own";
                write!(f, "held after {in_a_row} attempts in a row {failed}")?;
                why.as_ref().map_or(Ok(()), |why| write!(f, "; the last: {why}"))
            }
        }
    }
}

/// Adds a line; the oldest gives way when there are too many. A job may save its work a thousand
/// times: that leaves no more than the last, or nobody could read how it began.
pub(crate) fn add(story: &mut Vec<StoryLine>, at: Time, what: StoryEvent) {
    let saves = matches!(what, StoryEvent::Saved(_));
    if saves && story.last().is_some_and(|last| matches!(last.what, StoryEvent::Saved(_))) {
        story.pop();
    }
    if story.len() >= STORY_LINES_MAX {
        story.remove(0);
    }
    story.push(StoryLine { at, what });
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::time::Span;
    use std::collections::BTreeMap;

    #[test]
    fn a_story_of_a_build_that_did_not_keep_what_was_changed_is_still_read() {
        let old = rmp_serde::to_vec_named(&BTreeMap::from([("Updated", 7)])).unwrap();
        let line: StoryEvent = rmp_serde::from_slice(&old).unwrap();
        assert_eq!(line, StoryEvent::Updated(Uid(7)));
        let patch = Patch { time_limit: Some(Span::from_minutes(5)), ..Patch::default() };
        let new = StoryEvent::Changed { by: Uid(7), patch: Box::new(patch) };
        let kept = rmp_serde::to_vec_named(&new).unwrap();
        assert_eq!(rmp_serde::from_slice::<StoryEvent>(&kept).unwrap(), new);
        assert!(kept.len() < 60, "what was not changed is not written: {} bytes", kept.len());
    }
}
