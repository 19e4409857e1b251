//! What is measured of a replica for autoscaling: what its inference engine reports, and how busy
//! its GPUs are.

use crate::autoscale::Fraction;
use crate::id::AttemptId;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The path from which engines are asked for their metrics, if a role names none.
pub const METRICS_PATH: &str = "/metrics";

/// The measurements of one replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaLoad {
    pub id: AttemptId,
    /// When it was made: the time since kantd of its node began to run. It differs for each
    /// measurement, and unlike the time of arrival says how long a counter has counted.
    pub measured_at: Span,
    /// `None`: the last question was not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineLoad>,
    /// The mean part of the time in which its GPUs on its first node work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_usage: Option<Fraction>,
}

/// What the inference engine of a replica (vLLM, SGLang) reports of its load. `None`: it does not
/// report this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EngineLoad {
    /// Requests that are being answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// Requests in its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// The part of the memory for keys and values (KV cache) in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_usage: Option<Fraction>,
    /// The tokens that fit into that memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_tokens: Option<u64>,
    /// Times to the first token, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Summary>,
    /// Times between tokens, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub itl: Option<Summary>,
    /// Tokens of the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<Summary>,
    /// Tokens of the answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<Summary>,
}

/// A sum and the number of its parts since the engine began to run, so that the mean of a period is
/// the difference of two sums by that of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub sum: u64,
    pub count: u64,
}

impl Summary {
    /// What was added after `before`. `None`: nothing was, or the engine was started again.
    #[must_use]
    pub fn since(self, before: Self) -> Option<Self> {
        let (sum, count) =
            (self.sum.checked_sub(before.sum)?, self.count.checked_sub(before.count)?);
        (count > 0).then_some(Self { sum, count })
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum.saturating_add(other.sum),
            count: self.count.saturating_add(other.count),
        }
    }

    /// The mean in thousandths; 0 without parts.
    #[must_use]
    pub fn mean_milli(self) -> u64 {
        let mean = u128::from(self.sum) * 1000 / u128::from(self.count.max(1));
        u64::try_from(mean).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_period_is_that_of_the_differences() {
        let (before, after) = (Summary { sum: 100, count: 4 }, Summary { sum: 145, count: 7 });
        assert_eq!(after.since(before).map(Summary::mean_milli), Some(15_000));
        assert_eq!(after.since(after), None, "nothing was added");
        assert_eq!(before.since(after), None, "the engine was started again");
    }
}
