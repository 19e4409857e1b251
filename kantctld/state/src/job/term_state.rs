//! The state of one term of a job's dependency. It is stored with the dependent job, so that the
//! job stays free to start when the job that it waited for is requeued or forgotten.

use common::id::ArrayIndex;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The state of one term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TermState {
    /// Not satisfied yet. A `singleton` term stays in this state and is evaluated on demand.
    Open,
    /// Satisfied for good, and effective from this time, which includes the term's delay.
    Met(Time),
    /// Not satisfied, because the other job ended with another outcome.
    Failed,
    Each {
        /// The dependent job's own tasks for which the term is satisfied.
        met: BTreeSet<ArrayIndex>,
        /// The own tasks for which it failed.
        failed: BTreeSet<ArrayIndex>,
    },
}
