//! What a round decides. Never carried out here: the state checks each decision again and may
//! refuse it.

use common::id::{Attempt, JobKey, NodeName};
use common::job::PreemptReason;
use common::policy::VictimMode;
use common::resource::{Allocation, Share};
use common::unit::Nodes;
use serde::{Deserialize, Serialize};

/// One decision of a round. Who matches on it outside of this crate says what to do about a kind it
/// does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Start this job now, with this allocation.
    Start {
        key: JobKey,
        /// The attempt that starts.
        attempt: Attempt,
        /// All it gets, on all its nodes.
        allocation: Allocation,
        /// Of a job of several components, the first of them: all start, or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<JobKey>,
    },
    /// Make this running job yield.
    Preempt {
        key: JobKey,
        /// The attempt that runs.
        attempt: Attempt,
        /// The job it yields to.
        by: JobKey,
        /// Why it may be made to.
        reason: PreemptReason,
        /// What becomes of it.
        mode: VictimMode,
        /// Where a place is kept for it, if it moves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        to: Vec<NodeName>,
    },
    /// Have this running job give up its last nodes, and run on.
    Shrink {
        key: JobKey,
        /// The attempt that runs.
        attempt: Attempt,
        /// So many of its first nodes it keeps.
        keeps: Nodes,
        /// The job it yields to.
        by: JobKey,
        /// Why it may be made to.
        reason: PreemptReason,
    },
    /// Give this running job more nodes.
    Grow {
        key: JobKey,
        /// The attempt that runs.
        attempt: Attempt,
        /// What it gets in addition, each on a node that this attempt never had.
        shares: Vec<Share>,
    },
}
