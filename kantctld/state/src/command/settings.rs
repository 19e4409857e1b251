//! The settings that all replicas share. Settings of a single controller are not among them.

use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Factors, Moves, Policy, YieldsFirst};
use common::serde_skip::is_default;
use common::time::Span;
use common::topology::Topology;
use common::unit::Bytes;
use serde::{Deserialize, Serialize};

/// Limits on what the controller keeps for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserBounds {
    /// Scripts, environments and arguments of jobs that are not done.
    pub text: Bytes,
    /// Finished jobs and array tasks.
    pub done_tasks: u32,
}

impl Default for UserBounds {
    fn default() -> Self {
        Self { text: Bytes::from_mib(256), done_tasks: 20_000 }
    }
}

impl UserBounds {
    /// No limits, for simulations and benchmarks.
    pub const NONE: Self = Self { text: Bytes(u64::MAX), done_tasks: u32::MAX };
}

/// The settings that `apply` depends on. They are replicated, so that all replicas decide the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub cluster: String,
    /// The queues; exactly one is the default.
    pub queues: Vec<Queue>,
    /// Accept jobs of root.
    pub allow_root_jobs: bool,
    /// Time between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// How long finished jobs are kept.
    pub done_jobs_kept: Span,
    /// Limits on what the controller keeps for one user.
    #[serde(default, skip_serializing_if = "is_default")]
    pub user_bounds: UserBounds,
    /// The QoS, with unique names.
    pub qos: Vec<Qos>,
    /// The accounts, with unique names. If empty, any account may be named.
    pub accounts: Vec<Account>,
    /// Whether queues share the cluster by fair sharing.
    pub fair_sharing: bool,
    /// Tie-break between equally ranked victims of fair sharing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub yields_first: YieldsFirst,
    /// The weights of multifactor priority.
    pub factors: Factors,
    /// Limits on how often running jobs move.
    #[serde(default, skip_serializing_if = "is_default")]
    pub moves: Moves,
    pub topology: Topology,
}

impl Settings {
    /// The part of these settings that the engine reads.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            queues: self.queues.clone(),
            qos: self.qos.clone(),
            accounts: self.accounts.clone(),
            fair_sharing: self.fair_sharing,
            yields_first: self.yields_first,
            factors: self.factors,
            moves: self.moves,
            topology: self.topology.clone(),
        }
    }
}
