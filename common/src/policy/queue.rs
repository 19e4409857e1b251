//! A queue as the controller knows it. Never orders anything; that is the engine's.

use crate::id::{NodeName, QueueName, ZoneName};
use crate::policy::{
    Access, Backfill, Behind, Limits, Order, Placement, Preemption, Quota, ZoneOverflow,
};
use crate::time::Span;
use crate::unit::Bytes;
use serde::{Deserialize, Serialize};

/// A queue: who waits together, on which nodes, with which defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
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
    /// The queue above it; its quota and limits hold for this one too.
    #[serde(default)]
    pub parent: Option<QueueName>,
    /// Who may use it; the queues above must let them in as well.
    #[serde(default)]
    pub access: Access,
    /// In which order its jobs are considered.
    #[serde(default)]
    pub order: Order,
    /// What happens behind its first job without room.
    #[serde(default)]
    pub behind: Behind,
    /// How backfill works here.
    #[serde(default)]
    pub backfill: Backfill,
    /// Which nodes its jobs get.
    #[serde(default)]
    pub placement: Placement,
    /// The zone its services are spread in (E-Spread); other queues' jobs keep out of it.
    #[serde(default)]
    pub zone: Option<ZoneName>,
    /// What services do when the zone is full.
    #[serde(default)]
    pub zone_overflow: ZoneOverflow,
    /// Its part, against its siblings', of what nobody is owed, where queues share fairly; 0: none.
    #[serde(default = "one")]
    pub weight: u32,
    /// Where queues share fairly, its jobs are safe from other queues for so long; `None`: as the
    /// queue above says.
    #[serde(default)]
    pub reclaim_runtime_min: Option<Span>,
    /// What it is owed.
    #[serde(default)]
    pub quota: Quota,
    /// Bounds on all jobs of it and of the queues below it.
    #[serde(default)]
    pub limits: Limits,
    /// Bounds on the jobs of one user in it.
    #[serde(default)]
    pub limits_per_user: Limits,
    /// Bounds on the jobs of one account in it.
    #[serde(default)]
    pub limits_per_account: Limits,
    /// Who yields to whom.
    #[serde(default)]
    pub preemption: Preemption,
    /// Jobs may share a GPU (`--gpus=0.5`). Nodes end who has too much of its memory.
    #[serde(default)]
    pub share_gpus: bool,
}

const fn one() -> u32 {
    1
}

impl Queue {
    /// A queue with nothing but a name: all nodes, no bounds, the default policies.
    #[must_use]
    pub fn plain(name: QueueName) -> Self {
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
        }
    }
}
