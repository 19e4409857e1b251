//! The effect of a reload of the controller's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration was read again and is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadAnswer {
    pub file: String,
    /// The controller, as in `controller 1 (a), which leads`; `None` for a single controller.
    #[serde(default)]
    pub of: Option<String>,
    /// The changes, as in `queue.train.placement: "ebinpack" -> "spread"`.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Changed keys that require a restart.
    #[serde(default)]
    pub restart: Vec<String>,
    /// Valid settings that are probably a mistake, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
}
