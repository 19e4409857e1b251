//! What a round decided, as the log keeps it. Each entry is checked again against the ledger when
//! it is applied. Never holds a promise or a reason to wait: those are the engine's, said anew
//! each round.

use common::id::{AttemptId, JobKey, NodeName};
use common::job::Preempted;
use common::policy::VictimMode;
use common::resource::{Allocation, Share};
use common::unit::Nodes;
use serde::{Deserialize, Serialize};

/// One start a round decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStart {
    /// The attempt this will be: the job's last one plus one; a stale round is refused by it.
    pub id: AttemptId,
    pub allocation: Allocation,
    /// It starts together with all entries of the same group, or none of them does (the components
    /// of a heterogeneous job). `None`: by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<JobKey>,
}

/// One job that a round makes yield.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundPreempt {
    /// The victim's current attempt; a stale round is refused by it.
    pub id: AttemptId,
    /// For whom, and why. They must still wait.
    pub preempted: Preempted,
    /// What becomes of the victim. A job that does not want to be requeued (`--no-requeue`) is
    /// over either way.
    pub mode: VictimMode,
    /// Where a place is kept for it, if it moves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<NodeName>,
}

/// One job that a round has give up nodes and run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundShrink {
    /// The victim's current attempt; a stale round is refused by it.
    pub id: AttemptId,
    /// For whom, and why. They must still wait.
    pub preempted: Preempted,
    /// So many of its first nodes it keeps: as many as it needs, or more.
    pub keeps: Nodes,
}

/// One running job that a round gives nodes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundGrow {
    /// Its current attempt; a stale round is refused by it.
    pub id: AttemptId,
    /// What it gets beside what it has, each on a node that this attempt never had.
    pub shares: Vec<Share>,
}
