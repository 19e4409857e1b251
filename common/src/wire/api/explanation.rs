//! Why a job is where it is. Never more than the controller can say for certain.

use super::JobView;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Why a job is where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The job or, of an array, its first waiting task.
    pub job: JobView,
    /// What decides, step by step, each a sentence.
    pub lines: Vec<String>,
    /// What to do, if anything.
    pub advice: Option<String>,
    /// When it is expected to start, while it waits; by what was promised to it or, without a
    /// promise, by what its reason says. `None`: nobody can say.
    #[serde(default)]
    pub expected_at: Option<Time>,
}
