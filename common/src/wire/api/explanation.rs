//! Explanations of a job's state.

use super::JobView;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The job or, of an array, its first waiting task.
    pub job: JobView,
    /// The reasons, each a sentence.
    pub lines: Vec<String>,
    /// The next step for the user, if any.
    pub advice: Option<String>,
    /// The expected start of a waiting job: its planned start or, without one, the time in its
    /// reason. `None`: unknown.
    #[serde(default)]
    pub expected_at: Option<Time>,
}
