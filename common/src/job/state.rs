//! The states of a job and the table of transitions.
//!
//! A job begins in Pending and ends in Done; states are those of its current attempt. A requeue
//! starts a new attempt in Pending. The Slurm words and codes are a view of these states.
//! Source: the shape (one first state, one last, only events move a job) follows Flux RFC 21.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The phase of a job's current attempt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It waits and holds nothing.
    Pending,
    /// It has its allocation, and the nodes prepare.
    Starting,
    Running,
    /// Its processes are frozen, and it keeps its allocation.
    Suspended,
    /// It is ending; nodes clean up, and each is freed as it reports.
    Completing,
    /// It has ended and holds nothing.
    Done,
}

/// A transition of a job. Each variant is a kind of event.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A round allocated nodes.
    Start,
    /// All its nodes run it.
    Run,
    /// An operator suspended it.
    Suspend,
    /// An operator resumed it.
    Resume,
    /// It exited or was stopped.
    End,
    /// All its nodes have released it.
    Finish,
    /// It was cancelled before it started.
    Drop,
    /// It waits again, as a new attempt.
    Requeue,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Exit code 0.
    Completed,
    /// Another exit code, or a signal of its own.
    Failed,
    Cancelled,
    TimedOut,
    /// It exceeded its memory.
    OutOfMemory,
    NodeLost,
    /// Another job needed its resources.
    Preempted,
    /// Its deadline passed before it could start.
    DeadlineMissed,
    /// A node could not start it, because of its directory, its output file, or the node itself.
    LaunchFailed,
}

/// All allowed transitions; every other one is refused.
pub const TRANSITIONS: &[(Phase, Change, Phase)] = &[
    (Phase::Pending, Change::Start, Phase::Starting),
    (Phase::Pending, Change::Drop, Phase::Done),
    (Phase::Starting, Change::Run, Phase::Running),
    (Phase::Starting, Change::End, Phase::Completing),
    (Phase::Running, Change::Suspend, Phase::Suspended),
    (Phase::Running, Change::End, Phase::Completing),
    (Phase::Suspended, Change::Resume, Phase::Running),
    (Phase::Suspended, Change::End, Phase::Completing),
    (Phase::Completing, Change::Finish, Phase::Done),
    (Phase::Completing, Change::Requeue, Phase::Pending),
    (Phase::Done, Change::Requeue, Phase::Pending),
];

impl Phase {
    /// All phases, in order.
    pub const ALL: [Phase; 6] = [
        Phase::Pending,
        Phase::Starting,
        Phase::Running,
        Phase::Suspended,
        Phase::Completing,
        Phase::Done,
    ];

    /// The phase that a transition leads to; `None` if it is not allowed in this phase.
    #[must_use]
    pub fn after(self, change: Change) -> Option<Phase> {
        TRANSITIONS.iter().find(|(from, by, _)| *from == self && *by == change).map(|t| t.2)
    }

    #[must_use]
    pub const fn holds_resources(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Suspended | Self::Completing)
    }
}

impl Change {
    pub const ALL: [Change; 8] = [
        Change::Start,
        Change::Run,
        Change::Suspend,
        Change::Resume,
        Change::End,
        Change::Finish,
        Change::Drop,
        Change::Requeue,
    ];
}

/// A job's state in Slurm's terms: `(name, two-letter code)`; man squeue, "JOB STATE CODES".
#[must_use]
pub const fn slurm_state(phase: Phase, outcome: Option<Outcome>) -> (&'static str, &'static str) {
    match (phase, outcome) {
        (Phase::Pending, _) => ("PENDING", "PD"),
        (Phase::Starting, _) => ("CONFIGURING", "CF"),
        (Phase::Running, _) => ("RUNNING", "R"),
        (Phase::Suspended, _) => ("SUSPENDED", "S"),
        (Phase::Completing, _) => ("COMPLETING", "CG"),
        (Phase::Done, Some(Outcome::Completed) | None) => ("COMPLETED", "CD"),
        (Phase::Done, Some(Outcome::Failed)) => ("FAILED", "F"),
        (Phase::Done, Some(Outcome::Cancelled)) => ("CANCELLED", "CA"),
        (Phase::Done, Some(Outcome::TimedOut)) => ("TIMEOUT", "TO"),
        (Phase::Done, Some(Outcome::OutOfMemory)) => ("OUT_OF_MEMORY", "OOM"),
        (Phase::Done, Some(Outcome::NodeLost)) => ("NODE_FAIL", "NF"),
        (Phase::Done, Some(Outcome::Preempted)) => ("PREEMPTED", "PR"),
        (Phase::Done, Some(Outcome::DeadlineMissed)) => ("DEADLINE", "DL"),
        (Phase::Done, Some(Outcome::LaunchFailed)) => ("LAUNCH_FAILED", "LF"),
    }
}

/// The name in tables.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(slurm_state(Phase::Done, Some(*self)).0)
    }
}

/// The name in tables; `DONE` for an ended job without an outcome.
impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Done => "DONE",
            phase => slurm_state(*phase, None).0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_phase_and_change_leads_to_at_most_one_phase() {
        for phase in Phase::ALL {
            for change in Change::ALL {
                let rows = TRANSITIONS.iter().filter(|t| t.0 == phase && t.1 == change).count();
                assert!(rows <= 1, "{phase} {change:?}");
                assert_eq!(phase.after(change).is_some(), rows == 1);
            }
        }
    }

    #[test]
    fn every_phase_is_reached_from_pending_and_reaches_done() {
        let reach = |from: Phase| {
            let mut seen = std::collections::BTreeSet::from([from]);
            for _ in Phase::ALL {
                let next: Vec<Phase> = seen
                    .iter()
                    .flat_map(|p| Change::ALL.iter().filter_map(|c| p.after(*c)))
                    .collect();
                seen.extend(next);
            }
            seen
        };
        assert_eq!(reach(Phase::Pending).len(), Phase::ALL.len());
        for phase in Phase::ALL {
            assert!(reach(phase).contains(&Phase::Done), "{phase}");
        }
    }

    #[test]
    fn resources_are_only_gained_by_start_and_lost_by_finish_or_requeue() {
        for (from, change, to) in TRANSITIONS {
            match (from.holds_resources(), to.holds_resources()) {
                (false, true) => assert_eq!(*change, Change::Start),
                (true, false) => assert!(matches!(change, Change::Finish | Change::Requeue)),
                _ => {}
            }
        }
    }
}
