//! The reservation for a job that was stopped in order to continue on other nodes.

use crate::id::NodeName;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moving {
    pub to: Vec<NodeName>,
    /// The end of the reservation.
    pub until: Time,
}
