//! The settings that all replicas share. Never what only one controller goes by.

use common::account::Account;
use common::policy::{Factors, Moves, Policy, YieldsFirst};
use common::qos::Qos;
use common::queue::Queue;
use common::time::Span;
use common::topology::Topology;
use common::unit::Bytes;
use serde::{Deserialize, Serialize};

/// Bounds on what one user has the controller remember.
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
    /// No bounds, for who plays a user that may do anything.
    pub const NONE: Self = Self { text: Bytes(u64::MAX), done_tasks: u32::MAX };

    /// As they are where nothing is said: not written down.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Settings that decide in `apply`, replicated so that all replicas decide alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub cluster: String,
    /// The queues; exactly one is the default.
    pub queues: Vec<Queue>,
    /// Accept jobs of root.
    pub allow_root_jobs: bool,
    /// Between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// Finished jobs are kept so long.
    pub done_jobs_kept: Span,
    /// Bounds on what one user has the controller remember.
    #[serde(default, skip_serializing_if = "UserBounds::is_usual")]
    pub user_bounds: UserBounds,
    /// The QoS, none twice.
    #[serde(default)]
    pub qos: Vec<Qos>,
    /// The accounts, none twice. None: any account may be named.
    #[serde(default)]
    pub accounts: Vec<Account>,
    /// The queues share what there is fairly.
    #[serde(default)]
    pub fair_sharing: bool,
    /// Who of those alike yields first then.
    #[serde(default, skip_serializing_if = "YieldsFirst::is_usual")]
    pub yields_first: YieldsFirst,
    /// The weights of multifactor priority.
    #[serde(default)]
    pub factors: Factors,
    /// How often running jobs move.
    #[serde(default, skip_serializing_if = "Moves::is_usual")]
    pub moves: Moves,
    #[serde(default)]
    pub topology: Topology,
}

impl Settings {
    /// What the engine reads of these settings.
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
