//! Nodes: the inventory, and whether jobs may start there.

use crate::cpuset::CpuSet;
use crate::gpu::{Gpu, GpuMatrix, GpuPath};
use crate::health::DrainCause;
use crate::id::{FeatureName, NodeName, Uid};
use crate::time::Time;
use crate::unit::{Bytes, Cpus, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The CPUs and memory of one NUMA node.
/// The number of names of data that a node may have: each controller keeps them for all nodes.
pub const DATA_PER_NODE_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numa {
    /// The kernel's number.
    pub id: u16,
    pub cpus: CpuSet,
    pub memory: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// The kernel's name of its interface (`eth0`, `ib0`), or of its InfiniBand device if it has no
    /// interface.
    pub name: String,
    /// The kernel's name of its InfiniBand device (`mlx5_0`), if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infiniband: Option<String>,
    pub pci_bus_id: String,
    /// Its NUMA node, if known.
    #[serde(default)]
    pub numa: Option<u16>,
    /// The link speed in Mbit/s; `None`: the link is down or its speed unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u32>,
    /// The path to each GPU in the node's list, in its order.
    #[serde(default)]
    pub gpu_paths: Vec<GpuPath>,
}

/// The resources that kantd found on its machine and offers to jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inventory {
    pub sockets: u32,
    /// Hardware threads that share one core (2 with SMT).
    pub threads_per_core: u32,
    /// The logical CPUs for jobs: the machine's, without those that the operator reserves.
    pub cpus: CpuSet,
    /// For each core, its logical CPUs for jobs. Together they are `cpus`.
    pub cores: Vec<CpuSet>,
    /// At least one.
    pub numa: Vec<Numa>,
    /// Memory for jobs.
    pub memory: Bytes,
    pub gpus: Vec<Gpu>,
    /// The links between the GPUs.
    pub gpu_matrix: GpuMatrix,
    /// Network cards, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// The names that jobs may require (`--constraint`), in ascending order: the configured ones,
    /// and the kinds of its GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<FeatureName>,
    /// Changes with every boot of the machine (/proc/sys/kernel/random/boot_id).
    pub boot_id: String,
    /// `None` on a node without GPUs.
    #[serde(default)]
    pub gpu_driver: Option<String>,
    /// Limits that kantd cannot enforce on the node, in sentences ("no cgroups: not root").
    #[serde(default)]
    pub limits_missing: Vec<String>,
}

/// The feature of every node of `kantd emulate`, on which no process of a job runs.
pub const EMULATED: &str = "emulated";

impl Inventory {
    /// Is the node emulated?
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.features.iter().any(|feature| feature.as_str() == EMULATED)
    }

    #[must_use]
    pub fn cpu_count(&self) -> Cpus {
        Cpus(self.cpus.len())
    }

    #[must_use]
    pub fn gpu_count(&self) -> Gpus {
        Gpus(u32::try_from(self.gpus.len()).unwrap_or(u32::MAX))
    }
}

/// A drain: no new job starts on the node, because of an operator or of the node's health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drain {
    /// The operator's reason, or the problem.
    pub reason: String,
    pub by: Uid,
    pub since: Time,
    #[serde(default)]
    pub cause: DrainCause,
}

/// An operator resumed a drained node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    pub by: Uid,
    pub at: Time,
}

/// The state of a node's connection to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Contact {
    /// The node has a session.
    Connected,
    /// Its session ended; its jobs keep their resources until `node_lost_after` has passed.
    Silent { since: Time },
    /// Silent for too long, or rebooted: its jobs ended as NodeLost.
    Lost { since: Time },
}

/// A node's state as shown to users, in Slurm's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    Idle,
    /// Some of its resources are in use.
    Mixed,
    /// All CPUs or all GPUs are in use.
    Allocated,
    /// Drained, with running jobs.
    Draining,
    /// Drained, without jobs.
    Drained,
    Down,
}

impl NodeStatus {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Mixed => "mixed",
            Self::Allocated => "allocated",
            Self::Draining => "draining",
            Self::Drained => "drained",
            Self::Down => "down",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedInventory {
    pub name: NodeName,
    pub inventory: Inventory,
}
