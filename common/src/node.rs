//! What a node is: its inventory, and whether jobs may start there. Never looks at the machine.

use crate::cpuset::CpuSet;
use crate::gpu::{Gpu, GpuMatrix, GpuPath};
use crate::health::DrainCause;
use crate::id::{FeatureName, NodeName, Uid};
use crate::time::Time;
use crate::unit::{Bytes, Cpus, Gpus};
use serde::{Deserialize, Serialize};

/// The CPUs and memory of one NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numa {
    /// The kernel's number of it.
    pub id: u16,
    pub cpus: CpuSet,
    pub memory: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// The kernel's name of its interface (`eth0`, `ib0`), or of its InfiniBand device where it has
    /// no interface.
    pub name: String,
    /// The kernel's name of its InfiniBand device (`mlx5_0`), if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infiniband: Option<String>,
    pub pci_bus_id: String,
    /// The NUMA node it hangs on, where known.
    #[serde(default)]
    pub numa: Option<u16>,
    /// Its link's speed, in Mbit/s; `None`: it is down, or does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u32>,
    /// How far each GPU of the node's list is, in its order.
    #[serde(default)]
    pub gpu_paths: Vec<GpuPath>,
}

/// What kantd found on its machine and offers to jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    pub sockets: u32,
    /// Hardware threads that share one core (2 with SMT).
    pub threads_per_core: u32,
    /// The logical CPUs offered to jobs (the machine's, less what the operator keeps back).
    pub cpus: CpuSet,
    /// For each core, the offered logical CPUs on it. Together they are `cpus`.
    pub cores: Vec<CpuSet>,
    /// NUMA nodes; at least one.
    pub numa: Vec<Numa>,
    /// Memory offered to jobs.
    pub memory: Bytes,
    pub gpus: Vec<Gpu>,
    /// How they are linked.
    pub gpu_matrix: GpuMatrix,
    /// Network cards, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// What jobs may ask for by name (`--constraint`), rising: as configured, and the kinds of its
    /// GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<FeatureName>,
    /// Changes with every boot of the machine (/proc/sys/kernel/random/boot_id).
    pub boot_id: String,
    /// The GPU driver's version; `None` on a CPU node.
    #[serde(default)]
    pub gpu_driver: Option<String>,
    /// What kantd could not set up to enforce here, in sentences ("no cgroups: not root").
    #[serde(default)]
    pub limits_missing: Vec<String>,
}

/// The feature that every node of `kantd emulate` bears: no process of a job runs there.
pub const EMULATED: &str = "emulated";

impl Inventory {
    /// Is nothing of it real?
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

/// No new job starts on a node: an operator's wish, or the node is not well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// Why, in words: the operator's, or what is wrong.
    pub reason: String,
    pub by: Uid,
    pub since: Time,
    #[serde(default)]
    pub cause: DrainCause,
}

/// An operator put a drained node in use again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    pub by: Uid,
    pub at: Time,
}

/// Whether the controller hears from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contact {
    /// Its session is up.
    Connected,
    /// Its session ended; jobs there keep their resources until `node_lost_after` has passed.
    Silent { since: Time },
    /// Silent for too long, or rebooted: its jobs ended as NodeLost.
    Lost { since: Time },
}

/// A node's state as shown to users, in Slurm's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    Idle,
    /// Some of it is in use.
    Mixed,
    /// All CPUs or all GPUs are in use.
    Allocated,
    /// Drained, and jobs still run.
    Draining,
    /// Drained and empty.
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

/// A node together with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedInventory {
    pub name: NodeName,
    pub inventory: Inventory,
}
