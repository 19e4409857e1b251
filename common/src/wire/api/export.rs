//! Exports in the form of other programs.

use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A selection of jobs for a simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExportQuery {
    /// Only jobs submitted at this time or later, in milliseconds since 1970.
    pub since: Time,
}

/// Targets of one port of a service's replica, as Prometheus' http_sd reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetGroup {
    pub targets: Vec<String>,
    pub labels: BTreeMap<String, String>,
}
