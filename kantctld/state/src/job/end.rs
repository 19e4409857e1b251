//! How an attempt ends, once that is decided. Never decides it; `life` does.

use common::job::{ExitStatus, Outcome, Preempted};
use common::time::Time;
use serde::{Deserialize, Serialize};

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    /// As a new attempt, it goes back to its queue.
    pub requeue: bool,
    /// When that was decided.
    pub decided_at: Time,
    /// It is no fault of the job's: a node was lost, or could not start it.
    #[serde(default)]
    pub fault: bool,
    /// Somebody asked for it (cancel, requeue); else it ended by itself.
    pub asked: bool,
    /// It was made to yield: for whom, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Preempted>,
    /// How the deciding share exited. `None` if no process of it did.
    pub exit: Option<ExitStatus>,
    /// For people, from the deciding node.
    pub message: Option<String>,
}
