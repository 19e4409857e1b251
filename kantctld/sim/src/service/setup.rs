//! The replicas of a simulated service.

use common::autoscale::{Replicas, Tokens};
use common::time::Span;
use common::unit::Gpus;
use serde::Serialize;

/// What the replicas of a service are like, and how long a request may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Setup {
    /// Requests on which a replica works at a time, at least one.
    pub concurrency: u32,
    /// From the start of a replica until it is ready, in milliseconds in JSON.
    pub start_delay: Span,
    /// Of each replica.
    pub gpus: Gpus,
    /// A request that waits for longer is a miss.
    pub wait_bound: Span,
    /// Replicas that are ready when the trace begins.
    pub initial: Replicas,
    /// The tokens for which a replica has memory. Only the rule `queue` reads them.
    pub kv_tokens: Tokens,
}

impl Setup {
    /// The time between samples.
    pub const SAMPLE_INTERVAL: Span = Span::from_seconds(2);
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            concurrency: 8,
            start_delay: Span::from_seconds(90),
            gpus: Gpus(1),
            wait_bound: Span::from_seconds(5),
            initial: Replicas::ONE,
            kv_tokens: Tokens::whole(8 * 2048),
        }
    }
}
