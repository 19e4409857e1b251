//! Who is owed what, who has it, and who borrows from whom. Never computes it: `engine::fair` does.

use crate::gpu::GpuKind;
use crate::id::QueueName;
use crate::reason::What;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Where something borrowed comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lender {
    /// A queue that does not use what it is owed; `None`: nobody is owed it.
    pub queue: Option<QueueName>,
    /// So much, in the unit of its [`ShareOf`].
    pub amount: u64,
}

/// One resource of a queue, with all queues below it. Amounts are thousandths of GPUs, thousandths
/// of CPUs, or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareOf {
    /// GPUs, CPUs or memory.
    pub what: What,
    /// Of this kind alone; `None`: all kinds together.
    #[serde(default)]
    pub gpu_kind: Option<GpuKind>,
    /// Owed, whoever else wants it; `None`: its quota does not speak of it.
    pub quota: Option<u64>,
    /// It never holds more; `None`: no bound.
    pub at_most: Option<u64>,
    /// Held, or kept for a job that others make way for.
    pub held: u64,
    /// That part of it whose jobs yield to nobody.
    pub firm: u64,
    /// Asked for by jobs that wait and may start.
    pub waiting: u64,
    /// Its fair share now; `None`: shares are not what decides about it.
    pub share: Option<u64>,
    /// Held beyond its quota: others may take it back.
    pub borrowed: u64,
    /// Where that comes from. GPUs bear no names: it is counted first against what nobody is owed,
    /// then against what the queues beside it are owed and do not use, oldest queues first.
    pub from: Vec<Lender>,
    /// Of its quota, what others hold.
    pub lent: u64,
    /// What it used in the past, older use counted less, in millionths of all there was; `None`:
    /// it does not count.
    #[serde(default)]
    pub used_ppm: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareView {
    pub queue: QueueName,
    /// How many queues are above it.
    pub depth: u32,
    /// Of a surplus, a higher priority takes first.
    pub priority: i32,
    /// Its part, against those beside it, of what nobody is owed.
    pub weight: u32,
    /// GPUs of all kinds first; CPUs, memory and single kinds of GPU where some quota names them.
    pub of: Vec<ShareOf>,
}

/// All queues, each behind the one above it (GET /v1/share).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareList {
    /// Are shares what decides (`fair_sharing`), or each queue's quota alone?
    pub fair_sharing: bool,
    pub queues: Vec<ShareView>,
    /// The controller's time when it looked.
    pub as_of: Time,
}
