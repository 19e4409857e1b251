//! The policy of one queue.

use crate::id::{NodeName, QueueName, ZoneName};
use crate::policy::{
    Access, Backfill, Behind, Limits, Order, Placement, Preemption, Quota, Sandbox, ZoneOverflow,
};
use crate::time::Span;
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    pub name: QueueName,
    /// The queue for jobs that name none. Exactly one queue has this.
    pub default: bool,
    /// Jobs of a queue with a higher priority are considered first.
    pub priority: i32,
    /// The nodes for its jobs; empty: all nodes.
    pub nodes: Vec<NodeName>,
    /// The time limit of jobs that name none; `None`: the maximum.
    pub time_limit_default: Option<Span>,
    /// The maximum time limit of a job; `None`: unlimited.
    pub time_limit_max: Option<Span>,
    /// The memory per CPU of jobs that name none.
    pub memory_per_cpu: Bytes,
    /// The parent queue, with quota and limits that apply to this queue as well.
    #[serde(default)]
    pub parent: Option<QueueName>,
    /// The access; the queues above it must grant access as well.
    #[serde(default)]
    pub access: Access,
    #[serde(default)]
    pub order: Order,
    /// The treatment of jobs behind its first job without room.
    #[serde(default)]
    pub behind: Behind,
    #[serde(default)]
    pub backfill: Backfill,
    #[serde(default)]
    pub placement: Placement,
    /// The zone over which its services are spread (E-Spread); jobs of other queues avoid it.
    #[serde(default)]
    pub zone: Option<ZoneName>,
    /// The placement of services when the zone is full.
    #[serde(default)]
    pub zone_overflow: ZoneOverflow,
    /// Under fair sharing: its weight among its siblings in sharing the surplus; 0: no part.
    #[serde(default = "one")]
    pub weight: u32,
    /// Under fair sharing: the run time before which other queues may not preempt its jobs; `None`:
    /// the parent's value.
    #[serde(default)]
    pub reclaim_runtime_min: Option<Span>,
    #[serde(default)]
    pub quota: Quota,
    /// Limits on all jobs of it and of the queues below it.
    #[serde(default)]
    pub limits: Limits,
    /// Limits on each user's jobs in it.
    #[serde(default)]
    pub limits_per_user: Limits,
    /// Limits on each account's jobs in it.
    #[serde(default)]
    pub limits_per_account: Limits,
    #[serde(default)]
    pub preemption: Preemption,
    /// Jobs may share a GPU (`--gpus=0.5`). Nodes end jobs that exceed their share of its memory.
    #[serde(default)]
    pub share_gpus: bool,
    /// What the kernel refuses its jobs.
    #[serde(default)]
    pub sandbox: Sandbox,
}

const fn one() -> u32 {
    1
}

impl Queue {
    /// A queue with all nodes, no limits and the default policies.
    #[must_use]
    pub fn with_defaults(name: QueueName) -> Self {
        Self {
            name,
            default: false,
            priority: 0,
            nodes: Vec::new(),
            time_limit_default: None,
            time_limit_max: None,
            memory_per_cpu: Bytes::from_mib(1024),
            parent: None,
            access: Access::default(),
            order: Order::default(),
            behind: Behind::default(),
            backfill: Backfill::default(),
            placement: Placement::default(),
            zone: None,
            zone_overflow: ZoneOverflow::default(),
            weight: one(),
            reclaim_runtime_min: None,
            quota: Quota::default(),
            limits: Limits::default(),
            limits_per_user: Limits::default(),
            limits_per_account: Limits::default(),
            preemption: Preemption::default(),
            share_gpus: false,
            sandbox: Sandbox::default(),
        }
    }
}
