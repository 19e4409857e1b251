//! What kantd hands to a step's supervisor: the controller's order, and this node's part in it.
//! Written once, before the supervisor starts. Never changed afterwards.

use crate::cgroup::{Limits, Place};
use crate::container::Offer;
use common::gpu::Gpu;
use common::id::{AttemptId, GpuIndex, NodeName};
use common::job::Launch;
use common::mig::{DeviceNumber, MigDevice};
use common::resource::Share;
use common::time::Span;
use common::unit::Bytes;
use common::wire::node::LaunchOrder;
use net::OwnerRules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// One GPU given to the step on this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuGrant {
    /// Its number on the node.
    pub index: GpuIndex,
    /// The vendor's unique id.
    pub uuid: String,
    /// The N of /dev/nvidiaN; of a MIG device that of the whole GPU.
    pub minor: u32,
    /// Its memory; zero in orders of earlier releases.
    #[serde(default)]
    pub memory: Bytes,
    /// What it is a MIG device of; `None`: it is whole, as all are in orders of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<MigDevice>,
}

/// What the node's configuration says of every step here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRules {
    /// Directories that each step has for itself, as the kernel names them; none below another.
    pub private_dirs: Vec<PathBuf>,
    /// Whether it may run in a container, and how.
    pub containers: Offer,
    /// Whose it may be.
    pub owners: OwnerRules,
    /// Processes and threads; `None`: half of what the machine can hold.
    pub processes_max: Option<u32>,
    /// Run as root before a step.
    pub prolog: Option<PathBuf>,
    /// Run as root after a step.
    pub epilog: Option<PathBuf>,
    /// Run as the user before each task.
    pub task_prolog: Option<PathBuf>,
    /// How long prolog and epilog may take.
    pub hook_limit: Span,
    /// kantctl, for a job's processes; `None`: their PATH finds it.
    pub kantctl: Option<PathBuf>,
    /// Where kantctl reaches kantd; `None`: nowhere.
    pub socket: Option<PathBuf>,
}

/// All a supervisor needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOrder {
    /// The controller's order.
    pub launch: LaunchOrder,
    pub node: NodeName,
    /// This node's place in the allocation, from 0.
    pub rank: u32,
    /// What the job was given here.
    pub share: Share,
    /// The GPUs of the share.
    pub gpus: Vec<GpuGrant>,
    /// The minors of all GPUs of this node.
    pub gpu_minors: BTreeSet<u32>,
    /// What all MIG devices of this node are opened by, under the name that orders have always had
    /// for it. An order of an earlier release has none.
    #[serde(default, rename = "mig_parts")]
    pub mig_devices: BTreeSet<DeviceNumber>,
    /// Where its cgroup is made.
    pub cgroup: Place,
    /// May it run as root?
    pub allow_root: bool,
    /// The node's rules for it. An order of an earlier release has none.
    #[serde(default)]
    pub rules: StepRules,
}

/// An order this node cannot follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error("failed to launch {id}: its allocation does not name node {node}")]
    NotOurs { id: AttemptId, node: NodeName },
    /// The controller knows another inventory than we do.
    #[error("failed to launch {id}: node {node} has no GPU {index} any more")]
    NoSuchGpu { id: AttemptId, node: NodeName, index: GpuIndex },
}

/// One process to run on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPlace {
    /// Its rank in the job, from 0.
    pub rank: u32,
    /// Its rank on this node, from 0.
    pub local: u32,
}

impl StepOrder {
    /// The part of `node`, which has these GPUs, in an order.
    ///
    /// # Errors
    /// [`OrderError`] when the order is not for this node, or for GPUs it does not have.
    pub fn new(
        launch: LaunchOrder,
        node: &NodeName,
        gpus: &[Gpu],
        cgroup: Place,
        allow_root: bool,
    ) -> Result<Self, OrderError> {
        let id = launch.id;
        let shares = launch.allocation.shares();
        let rank = shares.iter().position(|share| share.node == *node);
        let (rank, share) = match rank {
            Some(rank) => (u32::try_from(rank).unwrap_or(u32::MAX), shares[rank].clone()),
            None => return Err(OrderError::NotOurs { id, node: node.clone() }),
        };
        let grant = |index: &GpuIndex| match gpus.iter().find(|gpu| gpu.index == *index) {
            Some(Gpu { uuid, minor, memory, mig, .. }) => {
                let (uuid, minor, memory, mig) = (uuid.clone(), *minor, *memory, mig.clone());
                Ok(GpuGrant { index: *index, uuid, minor, memory, mig })
            }
            None => Err(OrderError::NoSuchGpu { id, node: node.clone(), index: *index }),
        };
        let grants = share.gpus.iter().map(grant).collect::<Result<_, _>>()?;
        Ok(Self {
            launch,
            node: node.clone(),
            rank,
            share,
            gpus: grants,
            gpu_minors: gpus.iter().map(|gpu| gpu.minor).collect(),
            mig_devices: capabilities(gpus.iter().map(|gpu| &gpu.mig)),
            cgroup,
            allow_root,
            rules: StepRules::default(),
        })
    }

    /// The processes this node runs.
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

    /// How many processes each node of the job runs, as its programs should see it: for a script
    /// that runs once, what it may start itself.
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

    /// What its cgroup enforces. `pids_max` is the node's, not the order's.
    #[must_use]
    pub fn limits(&self, pids_max: Option<u32>) -> Limits {
        Limits {
            cpus: self.share.cpus.clone(),
            memory: Some(self.share.memory).filter(|memory| *memory > Bytes::ZERO),
            pids: pids_max,
            gpu_minors: self.gpus.iter().map(|gpu| gpu.minor).collect(),
            known_gpu_minors: self.gpu_minors.clone(),
            mig_devices: capabilities(self.gpus.iter().map(|gpu| &gpu.mig)),
            known_mig_devices: self.mig_devices.clone(),
        }
    }

    /// The user, for messages: `ada (uid 1000)`.
    #[must_use]
    pub fn user(&self) -> String {
        format!("{} (uid {})", self.launch.owner.name, self.launch.owner.uid)
    }
}

/// What the MIG devices among these GPUs are opened by.
fn capabilities<'gpu>(
    gpus: impl Iterator<Item = &'gpu Option<MigDevice>>,
) -> BTreeSet<DeviceNumber> {
    gpus.flatten().flat_map(|mig| mig.capabilities).collect()
}

#[cfg(test)]
pub(crate) mod tests;
