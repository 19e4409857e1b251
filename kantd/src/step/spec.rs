//! The spec of a step: the controller's launch order and this node's part in it. kantd writes it
//! once, before the supervisor starts, and it never changes.

use crate::cgroup::{CgroupParent, Limits};
use crate::container_support::Offer;
use common::gpu::Gpu;
use common::gpu::mig::{DeviceNumber, MigDevice};
use common::id::{AttemptId, GpuIndex, NodeName};
use common::job::{Launch, PortGrant};
use common::resource::Share;
use common::time::Span;
use common::unit::Bytes;
use common::wire::node::LaunchOrder;
use net::OwnerRules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuGrant {
    pub index: GpuIndex,
    /// The vendor's unique id.
    pub uuid: String,
    /// The N of /dev/nvidiaN; for a MIG device that of its GPU.
    pub minor: u32,
    pub memory: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<MigDevice>,
}

/// Settings of the node that apply to all its steps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRules {
    /// Directories that each step has its own of, as canonical paths; none is below another.
    pub private_dirs: Vec<PathBuf>,
    /// Container support.
    pub containers: Offer,
    /// Which users may own a step.
    pub owners: OwnerRules,
    /// Processes and threads; `None` means half of what the machine can hold.
    pub processes_max: Option<u32>,
    /// Program run as root before a step.
    pub prolog: Option<PathBuf>,
    /// Program run as root after a step.
    pub epilog: Option<PathBuf>,
    /// Program run as the user before each task.
    pub task_prolog: Option<PathBuf>,
    /// Time limit of prolog and epilog.
    pub hook_limit: Span,
    /// Path of kantctl for the job's processes; `None` if their PATH finds it.
    pub kantctl: Option<PathBuf>,
    /// kantd's socket for kantctl, if there is one.
    pub socket: Option<PathBuf>,
    /// The record of the last contact with a leader; `None`: the step is never fenced.
    pub leader_contact: Option<PathBuf>,
}

/// Everything that a supervisor needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSpec {
    pub launch: LaunchOrder,
    pub node: NodeName,
    /// The node's index in the allocation.
    pub rank: u32,
    /// The job's resources on this node.
    pub share: Share,
    /// The GPUs of `share`.
    pub gpus: Vec<GpuGrant>,
    /// The minors of all GPUs of this node.
    pub gpu_minors: BTreeSet<u32>,
    /// The device numbers of all MIG devices of this node.
    pub mig_devices: BTreeSet<DeviceNumber>,
    /// Where its cgroup is made.
    pub cgroup: CgroupParent,
    pub allow_root: bool,
    pub rules: StepRules,
    /// The ports of a replica of a service, on its first node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortGrant>,
}

/// A launch order that this node cannot carry out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("failed to launch {id}: its allocation does not name node {node}")]
    NotOurs { id: AttemptId, node: NodeName },
    /// The controller's inventory of the node is out of date.
    #[error("failed to launch {id}: node {node} has no GPU {index} any more")]
    NoSuchGpu { id: AttemptId, node: NodeName, index: GpuIndex },
}

/// A process to run on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPlace {
    /// Rank in the job, from 0.
    pub rank: u32,
    /// Rank on this node, from 0.
    pub local: u32,
}

impl StepSpec {
    /// The part of `node`, which has these GPUs, in a launch order.
    ///
    /// # Errors
    /// [`SpecError`] when the order does not name the node, or names a GPU it does not have.
    pub fn new(
        launch: LaunchOrder,
        node: &NodeName,
        gpus: &[Gpu],
        cgroup: CgroupParent,
        allow_root: bool,
    ) -> Result<Self, SpecError> {
        let id = launch.id;
        let shares = launch.allocation.shares();
        let rank = shares.iter().position(|share| share.node == *node);
        let (rank, share) = match rank {
            Some(rank) => (u32::try_from(rank).unwrap_or(u32::MAX), shares[rank].clone()),
            None => return Err(SpecError::NotOurs { id, node: node.clone() }),
        };
        let grant = |index: &GpuIndex| match gpus.iter().find(|gpu| gpu.index == *index) {
            Some(Gpu { uuid, minor, memory, mig, .. }) => {
                let (uuid, minor, memory, mig) = (uuid.clone(), *minor, *memory, mig.clone());
                Ok(GpuGrant { index: *index, uuid, minor, memory, mig })
            }
            None => Err(SpecError::NoSuchGpu { id, node: node.clone(), index: *index }),
        };
        let grants = share.gpus.iter().map(grant).collect::<Result<_, _>>()?;
        Ok(Self {
            launch,
            node: node.clone(),
            rank,
            share,
            gpus: grants,
            gpu_minors: gpus.iter().map(|gpu| gpu.minor).collect(),
            mig_devices: mig_device_numbers(gpus.iter().map(|gpu| &gpu.mig)),
            cgroup,
            allow_root,
            rules: StepRules::default(),
            ports: Vec::new(),
        })
    }

    /// The processes of this node.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskPlace> {
        match self.launch.launch {
            Launch::Once if self.rank == 0 => vec![TaskPlace { rank: 0, local: 0 }],
            Launch::Once | Launch::Held => Vec::new(),
            Launch::PerNode => vec![TaskPlace { rank: self.rank, local: 0 }],
            Launch::PerTask => {
                let shares = self.launch.allocation.shares();
                let before: u32 = shares.iter().take(self.rank as usize).map(|s| s.tasks.0).sum();
                let place = |local| TaskPlace { rank: before + local, local };
                (0..self.share.tasks.0).map(place).collect()
            }
        }
    }

    /// The number of processes on each node of the job, as programs see it: for a script that runs
    /// once, the number it may start itself.
    #[must_use]
    pub fn tasks_per_node(&self) -> Vec<u32> {
        let shares = self.launch.allocation.shares().iter();
        match self.launch.launch {
            Launch::PerNode => shares.map(|_| 1).collect(),
            Launch::Once | Launch::PerTask | Launch::Held => {
                shares.map(|share| share.tasks.0).collect()
            }
        }
    }

    /// The limits that the step's cgroup enforces. `pids_max` is the node's.
    #[must_use]
    pub fn limits(&self, pids_max: Option<u32>) -> Limits {
        Limits {
            cpus: self.share.cpus.clone(),
            memory: Some(self.share.memory).filter(|memory| *memory > Bytes::ZERO),
            pids: pids_max,
            gpu_minors: self.gpus.iter().map(|gpu| gpu.minor).collect(),
            known_gpu_minors: self.gpu_minors.clone(),
            mig_devices: mig_device_numbers(self.gpus.iter().map(|gpu| &gpu.mig)),
            known_mig_devices: self.mig_devices.clone(),
        }
    }

    /// The user in messages: `ada (uid 1000)`.
    #[must_use]
    pub fn user_text(&self) -> String {
        format!("{} (uid {})", self.launch.owner.name, self.launch.owner.uid)
    }
}

/// The device numbers by which the MIG devices among these GPUs are opened.
fn mig_device_numbers<'gpu>(
    gpus: impl Iterator<Item = &'gpu Option<MigDevice>>,
) -> BTreeSet<DeviceNumber> {
    gpus.flatten().flat_map(|mig| mig.capabilities).collect()
}

#[cfg(test)]
pub(crate) mod tests;
