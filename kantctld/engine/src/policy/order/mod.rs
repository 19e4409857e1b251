//! Step 1: in which order waiting jobs are considered.

pub(crate) mod backfill_rank;
pub mod fair_share;
pub mod fifo;
pub mod multifactor;
pub(crate) mod ranker;

pub use crate::model::rank::{self, Rank};

use common::id::{AccountName, JobKey, Uid};
use common::policy::Order;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::time::Time;
use common::unit::{Cpus, GpuMilli};
use multifactor::Multifactor;

/// What the order reads of a waiting job.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub key: JobKey,
    pub queue: &'a Queue,
    /// Its QoS, if it is configured.
    pub qos: Option<&'a Qos>,
    pub account: Option<&'a AccountName>,
    pub owner: Uid,
    pub nice: i32,
    /// Since when it waits.
    pub since: Time,
    /// GPUs it asks for in all.
    pub gpus: GpuMilli,
    /// CPUs it asks for in all.
    pub cpus: Cpus,
}

/// A job's rank, by its queue's order.
#[must_use]
pub fn rank_of(multifactor: &Multifactor<'_>, job: &Facts<'_>, now: Time) -> Rank {
    match job.queue.order {
        Order::Fifo => fifo::rank(job),
        Order::Multifactor => multifactor.rank(job, now),
    }
}
