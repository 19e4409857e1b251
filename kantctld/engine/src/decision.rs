//! What a round decides. Never carried out here: the state checks each decision again and may
//! refuse it.

use common::id::{Attempt, JobKey};
use common::resource::Allocation;
use serde::{Deserialize, Serialize};

/// One decision of a round. Reserve, Preempt and Move will join it; who matches on it outside of
/// this crate says what to do about a kind it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Start this job now, with this allocation.
    Start {
        /// The job.
        key: JobKey,
        /// The attempt that starts.
        attempt: Attempt,
        /// All it gets, on all its nodes.
        allocation: Allocation,
    },
}
