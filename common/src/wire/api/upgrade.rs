//! What an upgrade has reached: the releases that run, and the next step.

use crate::id::{ControllerId, NodeName};
use crate::rules_level::{RulesLevel, RulesLevels};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The releases in a cluster, as the leader knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeView {
    /// The rules level in force.
    pub level: RulesLevel,
    /// The leader's `rules_level_max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_max: Option<RulesLevel>,
    /// In the order of their ids.
    pub controllers: Vec<ControllerRelease>,
    /// By release.
    pub nodes: Vec<NodeRelease>,
    /// What to do next.
    pub next: UpgradeStep,
}

/// One controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerRelease {
    pub id: ControllerId,
    pub name: String,
    pub leads: bool,
    /// The release that it reported last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The rules levels that it knows; `None` if it is not in contact with the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<RulesLevels>,
    /// The number of committed log entries that it is not known to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
}

/// The nodes with one release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRelease {
    /// As kantd reported it when it last connected.
    pub release: String,
    pub nodes: Vec<NodeName>,
}

/// The next step of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum UpgradeStep {
    /// Do not stop a controller: another one is down or lacks entries.
    WaitForController { controller: ControllerId },
    /// Do not stop a controller: one is being added or removed.
    WaitForMembers,
    /// Install this release on a controller and start it again; the leader last.
    InstallController { controller: ControllerId, release: String },
    /// All controllers know this level, and `rules_level_max` keeps the leader from raising it.
    AllowLevel { level: RulesLevel },
    /// All controllers know this level, and the leader is about to raise it.
    WaitForLevel { level: RulesLevel },
    /// Install this release on these nodes.
    InstallNodes { release: String, nodes: Vec<NodeName> },
    /// All hosts run the same release.
    Complete,
}

impl UpgradeStep {
    /// Whether nothing may be stopped now.
    #[must_use]
    pub const fn is_wait(&self) -> bool {
        matches!(
            self,
            Self::WaitForController { .. } | Self::WaitForMembers | Self::WaitForLevel { .. }
        )
    }
}
