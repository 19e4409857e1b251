//! The decisions of a round. The state checks each again and may refuse it.

use common::id::{Attempt, JobKey, NodeName};
use common::job::PreemptReason;
use common::policy::VictimMode;
use common::resource::{Allocation, Share};
use common::unit::Nodes;
use serde::{Deserialize, Serialize};

/// One decision of a round. Code outside of this crate must handle kinds that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Start this job now, with this allocation.
    Start {
        key: JobKey,
        attempt: Attempt,
        /// All it gets, on all its nodes.
        allocation: Allocation,
        /// For a component of a set, the first component: all start, or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<JobKey>,
    },
    /// Preempt this running job.
    Preempt {
        key: JobKey,
        attempt: Attempt,
        /// The preemptor.
        by: JobKey,
        /// Why it may be preempted.
        reason: PreemptReason,
        /// What happens to it then.
        mode: VictimMode,
        /// The place that is kept for it, if it is moved.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        to: Vec<NodeName>,
    },
    /// Shrink this running job: it gives up its last nodes and runs on.
    Shrink {
        key: JobKey,
        attempt: Attempt,
        /// How many of its first nodes it keeps.
        keeps: Nodes,
        /// The preemptor.
        by: JobKey,
        /// Why it may be shrunk.
        reason: PreemptReason,
    },
    /// Give this running job more nodes.
    Grow {
        key: JobKey,
        attempt: Attempt,
        /// What it gets in addition. Each share is on a node that this attempt never had.
        shares: Vec<Share>,
    },
}
