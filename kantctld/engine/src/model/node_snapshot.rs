//! Nodes as a round sees them. What is free is computed from what jobs hold.

use common::id::{DataName, NodeName};
use common::node::Inventory;
use common::serde_skip::is_default;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One node, and whether jobs may start there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSnapshot {
    pub name: NodeName,
    /// What it has. Shared with the state, which never changes it.
    pub inventory: Arc<Inventory>,
    /// Why no job may start here now. `None`: jobs may.
    #[serde(default)]
    pub unusable: Option<Unusable>,
    /// The names of the data that it has, in ascending order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data: Arc<[DataName]>,
}

impl NodeSnapshot {
    /// A node on which jobs may start.
    #[must_use]
    pub fn usable(name: NodeName, inventory: Arc<Inventory>) -> Self {
        Self { name, inventory, unusable: None, data: Arc::default() }
    }
}

/// Why no job may start on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// Silent or lost. Takes precedence over [`Self::Drained`].
    Down,
    Drained,
}
