//! When a node without a leader ends its jobs, so that they never run twice.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The terms on which a node goes on without a leader, from the leader's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FenceTerms {
    /// A node ends the jobs that may be requeued this long after it sent the last request that a
    /// leader confirmed. Zero: never.
    pub after: Span,
    /// The longest time that these jobs have between SIGTERM and SIGKILL.
    pub kill_within: Span,
    /// How often the node asks whether the leader leads.
    pub ask_every: Span,
}
