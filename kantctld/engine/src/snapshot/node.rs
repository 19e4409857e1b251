//! Nodes as a round sees them. Never says what is free: that follows from what jobs hold.

use common::id::NodeName;
use common::node::Inventory;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One node: what it has, and whether jobs may start there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSnapshot {
    pub name: NodeName,
    /// What it has; shared with the state, which keeps it unchanged.
    pub inventory: Arc<Inventory>,
    /// Why no job may start here now; `None`: jobs may.
    #[serde(default)]
    pub unusable: Option<Unusable>,
}

impl NodeSnapshot {
    /// A node where jobs may start.
    #[must_use]
    pub const fn usable(name: NodeName, inventory: Arc<Inventory>) -> Self {
        Self { name, inventory, unusable: None }
    }
}

/// Why no job may start on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// Silent or lost. Said of a node that is drained as well.
    Down,
    /// An operator drained it.
    Drained,
}
