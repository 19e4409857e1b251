//! What a reload of the controller's configuration did. Never the configuration itself.

use serde::{Deserialize, Serialize};

/// A configuration was read again and is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadAnswer {
    pub file: String,
    /// Whose, like `controller 1 (a), which leads`; none of a controller that is alone.
    #[serde(default)]
    pub of: Option<String>,
    /// What changed, each like `queue.train.placement: "ebinpack" -> "spread"`.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Keys that differ from what runs, and take a restart to come into force.
    #[serde(default)]
    pub restart: Vec<String>,
    /// What is allowed and probably not meant, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
}
