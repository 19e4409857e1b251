//! The tie-break between equally ranked victims under fair sharing, for reclaim and for priority.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Applies to the most over-served queue and the lowest priority in it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum YieldsFirst {
    /// The job with the latest submission or checkpoint.
    /// Source: KAI Scheduler, except for checkpoints.
    #[default]
    SubmittedLast,
    /// The job that loses the least work per GPU: the one with the latest start or checkpoint.
    LosesLeast,
}
