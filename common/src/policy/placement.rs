//! Placement policies, which choose among the nodes that can hold a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The placement policy of a queue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// The first nodes in the cluster's order.
    First,
    /// The nodes with the least free resources.
    Binpack,
    /// Binpack on nodes and leaf groups (Kant, E-Binpack).
    #[default]
    EBinpack,
    /// The nodes with the most free resources.
    Spread,
    /// Services are spread inside the inference zone; other jobs are packed (Kant, E-Spread).
    ESpread,
    /// The node that loses the least capacity for the typical job (FGD, ATC'23).
    Fgd,
}

/// The placement of a service when the inference zone is full (E-Spread).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ZoneOverflow {
    /// Packed into the rest of the cluster.
    #[default]
    Pack,
    Wait,
}
