//! Jobs that keep apart from others of a group.

use super::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which places the jobs of a group do not share if that can be avoided.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Nodes.
    Node,
    /// Leaf groups, and within one of them nodes.
    Leaf,
}

/// A group of jobs, and how its members keep apart from each other.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
pub struct Apart {
    /// The jobs of a user with one name, or the replicas of one role of a service.
    pub group: String,
    /// `--max-per-node`: how many of them may be on a node. `None`: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_node_max: Option<u32>,
    /// What they share only if there is no other place now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

impl Request {
    /// The group of jobs of which at most a number may be on a node, and that number.
    #[must_use]
    pub fn per_node_max(&self) -> Option<(&str, u32)> {
        let apart = self.apart.as_ref()?;
        Some((&apart.group, apart.per_node_max?))
    }

    /// The group of jobs that it avoids, and where.
    #[must_use]
    pub fn spread(&self) -> Option<(&str, Spread)> {
        let apart = self.apart.as_ref()?;
        Some((&apart.group, apart.spread?))
    }

    /// The group that it counts for.
    #[must_use]
    pub fn group(&self) -> Option<Arc<str>> {
        self.apart.as_ref().map(|apart| apart.group.as_str().into())
    }
}
