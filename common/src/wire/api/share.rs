//! Shares of queues: entitlements, use, and borrowing.

use crate::gpu::GpuKind;
use crate::id::QueueName;
use crate::reason::What;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of a borrowed amount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lender {
    /// A queue that does not use its entitlement; `None`: the surplus, to which no queue is
    /// entitled.
    pub queue: Option<QueueName>,
    /// In the unit of its [`ShareOf`].
    pub amount: u64,
}

/// One resource of a queue, with all queues below it. Amounts are thousandths of GPUs, thousandths
/// of CPUs, or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareOf {
    /// GPUs, CPUs or memory.
    pub what: What,
    /// `None`: all kinds together.
    #[serde(default)]
    pub gpu_kind: Option<GpuKind>,
    /// The guaranteed amount; `None`: the quota does not name the resource.
    pub quota: Option<u64>,
    /// The maximum; `None`: unlimited.
    pub at_most: Option<u64>,
    /// Held, or kept for a job for which others are being preempted.
    pub held: u64,
    /// The part of it that is held by jobs that cannot be preempted.
    pub firm: u64,
    /// Requested by waiting jobs that may start.
    pub waiting: u64,
    /// The current fair share; `None`: fair sharing does not apply to the resource.
    pub share: Option<u64>,
    /// Held beyond the quota: other queues may reclaim it.
    pub borrowed: u64,
    /// The sources of `borrowed`. GPUs are not tracked one by one: the surplus is counted first,
    /// then the unused entitlement of sibling queues, oldest queues first.
    pub from: Vec<Lender>,
    /// The part of its quota that others hold.
    pub lent: u64,
    /// Its past usage, with decay, in millionths of the capacity; `None`: past usage is not
    /// considered.
    #[serde(default)]
    pub used_ppm: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareView {
    pub queue: QueueName,
    /// The number of its ancestors.
    pub depth: u32,
    /// A higher priority takes from a surplus first.
    pub priority: i32,
    /// Its weight among its siblings in sharing a surplus.
    pub weight: u32,
    /// GPUs of all kinds first; CPUs, memory and single GPU kinds where some quota names them.
    pub of: Vec<ShareOf>,
}

/// All queues, each after its parent (GET /v1/share).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareList {
    /// Is fair sharing enabled (`fair_sharing`)?
    pub fair_sharing: bool,
    pub queues: Vec<ShareView>,
    /// The controller's time of the answer.
    pub as_of: Time,
}
