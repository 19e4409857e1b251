//! A queue as the controller knows it. Never orders anything; that is the engine's.

use crate::id::{NodeName, QueueName};
use crate::time::Span;
use crate::unit::Bytes;
use serde::{Deserialize, Serialize};

/// A queue: who waits together, on which nodes, with which defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its name.
    pub name: QueueName,
    /// Taken when a job names none. Exactly one queue has this.
    pub default: bool,
    /// Jobs of a queue with a higher priority are ordered first.
    pub priority: i32,
    /// Jobs run on these nodes only; empty: on any.
    pub nodes: Vec<NodeName>,
    /// For jobs that name no time limit; `None`: the longest allowed.
    pub time_limit_default: Option<Span>,
    /// The longest time limit a job may ask for; `None`: no bound.
    pub time_limit_max: Option<Span>,
    /// Memory for each CPU of a job that names none.
    pub memory_per_cpu: Bytes,
}
