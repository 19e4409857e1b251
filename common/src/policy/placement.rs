//! Which of the nodes that hold a job it gets. Never scores a node; `engine::score` does.

use serde::{Deserialize, Serialize};

/// A placement policy, by queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// The first nodes in the cluster's order.
    First,
    /// The nodes with the least left.
    Binpack,
    /// Binpack for nodes and for leaf groups (Kant, E-Binpack).
    #[default]
    EBinpack,
    /// The nodes with the most left.
    Spread,
    /// Services are spread inside the inference zone, everything else is packed (Kant, E-Spread).
    ESpread,
    /// The node that loses the least room for the typical job (FGD, ATC'23).
    Fgd,
}

/// What a service does when the inference zone is full (E-Spread).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ZoneOverflow {
    /// It is packed into the rest of the cluster.
    #[default]
    Pack,
    Wait,
}
