//! The decisions of a round, as kept in the log. Each is checked again against the ledger when it
//! is applied. Reservations for waiting jobs and reasons to wait are not among them: the engine
//! works them out again in each round.

use common::id::{AttemptId, JobKey, NodeName};
use common::job::Preempted;
use common::policy::VictimMode;
use common::resource::{Allocation, Share};
use common::unit::Nodes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStart {
    /// The attempt to start: the number of the job's last attempt plus one. It exposes a stale
    /// round, which is refused.
    pub id: AttemptId,
    pub allocation: Allocation,
    /// The group of the entry. All entries of a group start or none does (the components of a
    /// heterogeneous job). `None` if the job starts by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<JobKey>,
}

/// A running job that a round preempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundPreempt {
    /// The victim's current attempt. It exposes a stale round, which is refused.
    pub id: AttemptId,
    /// The preemptor, which must still be waiting, and the reason.
    pub preempted: Preempted,
    /// Whether the victim is requeued or ended. A job submitted with `--no-requeue` always ends.
    pub mode: VictimMode,
    /// The nodes that are kept for the victim, if it moves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<NodeName>,
}

/// A running job that gives up nodes in a round and runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundShrink {
    /// The victim's current attempt. It exposes a stale round, which is refused.
    pub id: AttemptId,
    /// The preemptor, which must still be waiting, and the reason.
    pub preempted: Preempted,
    /// The number of its first nodes that the job keeps; at least its minimum.
    pub keeps: Nodes,
}

/// A running job that gets more nodes in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundGrow {
    /// The current attempt. It exposes a stale round, which is refused.
    pub id: AttemptId,
    /// The additional shares, each on a node that this attempt never had.
    pub shares: Vec<Share>,
}
