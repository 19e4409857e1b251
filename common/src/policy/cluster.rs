//! The complete policy of a cluster, which the engine reads besides nodes and jobs.

use super::{Factors, Moves, YieldsFirst};
use crate::policy::account::Account;
use crate::policy::qos::Qos;
use crate::policy::queue::Queue;
use crate::serde_skip::is_default;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Policy {
    /// Without duplicates; each parent exists, and there are no cycles.
    pub queues: Vec<Queue>,
    /// Without duplicates.
    pub qos: Vec<Qos>,
    /// Without duplicates. If empty, a job may name any account, without limits.
    pub accounts: Vec<Account>,
    /// Queues share the cluster by weight along their tree, instead of each by its quota alone.
    pub fair_sharing: bool,
    /// The tie-break between equally ranked victims under fair sharing.
    #[serde(skip_serializing_if = "is_default")]
    pub yields_first: YieldsFirst,
    /// The weights of multifactor priority.
    pub factors: Factors,
    /// The budget for moving running jobs.
    #[serde(skip_serializing_if = "is_default")]
    pub moves: Moves,
    pub topology: Topology,
}

impl Policy {
    /// May running jobs be moved to make room?
    #[must_use]
    pub const fn may_move(&self) -> bool {
        self.fair_sharing && !self.moves.is_off()
    }
}
