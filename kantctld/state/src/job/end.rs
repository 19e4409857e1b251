//! The decided end of an attempt.

use common::job::{ExitStatus, Outcome, Preempted};
use common::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    /// Whether the job returns to its queue for a new attempt.
    pub requeue: bool,
    /// When the end was decided.
    pub decided_at: Time,
    /// Whether the job did not cause the end: a node was lost, or could not start it.
    pub fault: bool,
    /// Whether a user asked for it (cancel, requeue).
    pub asked: bool,
    /// The preemptor and the reason, if the attempt was preempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Preempted>,
    /// The exit status of the deciding share; `None` if none of its processes exited.
    pub exit: Option<ExitStatus>,
    /// The deciding node's message to the user.
    pub message: Option<String>,
}
