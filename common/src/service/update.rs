//! How replicas are moved to a new revision.
//!
//! Source: Nomad's update block (`max_parallel`, `min_healthy_time`, `healthy_deadline`,
//! `progress_deadline`, `auto_revert`, `canary`) and Kubernetes' `maxSurge`.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdatePolicy {
    /// At most this number of replicas of a role are replaced at the same time.
    pub max_parallel: u32,
    /// At most this number of replicas of a role run in addition to the wanted ones; at most
    /// `max_parallel`. With 0, a replica is stopped before its replacement starts.
    pub max_surge: u32,
    /// Replicas of the new revision that are started first; the others follow once a user promotes
    /// the revision. 0: none.
    pub canary: u32,
    /// A replica counts as healthy once it has been ready for this time.
    pub min_healthy: Span,
    /// A replica must be healthy within this time after it began to run.
    pub healthy_deadline: Span,
    /// Every next replica must be healthy within this time after the one before.
    pub progress_deadline: Span,
    /// Return to the last healthy revision if the update fails; otherwise the update pauses.
    pub auto_revert: bool,
}

impl Default for UpdatePolicy {
    fn default() -> Self {
        Self {
            max_parallel: 1,
            max_surge: 1,
            canary: 0,
            min_healthy: Span::from_seconds(10),
            healthy_deadline: Span::from_minutes(5),
            progress_deadline: Span::from_minutes(10),
            auto_revert: true,
        }
    }
}

impl UpdatePolicy {
    /// The number of wanted replicas that may be missing during an update.
    #[must_use]
    pub const fn missing_max(&self) -> u32 {
        self.max_parallel.saturating_sub(self.max_surge)
    }
}
