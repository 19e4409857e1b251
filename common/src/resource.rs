//! What a job asks for and what it was given. Never decides anything.

mod gpus;

pub use gpus::GpuRequest;

use crate::constraint::Constraint;
use crate::cpuset::CpuSet;
use crate::gpu::mig;
use crate::gpu::{Gpu, GpuKind};
use crate::gpu_parts::{GpuParts, PartSize};
use crate::id::{GpuIndex, NodeName};
use crate::topology::Nearness;
use crate::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes, Tasks};
use serde::{Deserialize, Serialize};

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for this shape
fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRequest {
    /// On each node (`--mem`). Zero means all of the node's memory, as in Slurm.
    PerNode(Bytes),
    /// For each CPU (`--mem-per-cpu`).
    PerCpu(Bytes),
    /// For each GPU (`--mem-per-gpu`).
    PerGpu(Bytes),
}

/// At most so many jobs of a group on one node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PerNodeMax {
    /// The group: jobs of one service.
    pub group: String,
    /// So many of them.
    pub jobs: u32,
}

/// What a job asks for. Checked by `job::check` before anything else sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Request {
    /// How many nodes (`--nodes`); `None`: as few as hold the tasks.
    #[serde(default)]
    pub nodes: Option<Nodes>,
    /// Tasks in all (`--ntasks`); at least one.
    pub tasks: Tasks,
    /// At most so many tasks on a node (`--ntasks-per-node`).
    #[serde(default)]
    pub tasks_per_node: Option<Tasks>,
    /// Logical CPUs for each task (`--cpus-per-task`); at least one.
    pub cpus_per_task: Cpus,
    /// Memory; `None`: the queue's default per CPU.
    #[serde(default)]
    pub memory: Option<MemoryRequest>,
    /// GPUs; `None`: none.
    #[serde(default)]
    pub gpus: Option<GpuRequest>,
    /// Only GPUs of this kind (`--gpus=h100:4`).
    #[serde(default)]
    pub gpu_kind: Option<GpuKind>,
    /// Or GPUs of one of these kinds (`--gpus=h100|a100:4`), rising; empty unless `gpu_kind` is
    /// given.
    #[serde(default)]
    pub gpu_kinds_or: Vec<GpuKind>,
    /// It is content with so many tasks (`--ntasks=2-8`); `None`: it takes all or nothing.
    #[serde(default)]
    pub tasks_min: Option<Tasks>,
    /// While it runs on fewer tasks than it could take, it takes more nodes as they come free
    /// (`--grow`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub grow: bool,
    /// How near its nodes are to each other (`--near`).
    #[serde(default)]
    pub near: Option<Nearness>,
    /// Blocks of so many nodes (`--segment`): nearness holds for each block by itself.
    #[serde(default)]
    pub segment: Option<Nodes>,
    /// At most so many jobs of its group on one node (`--max-per-node`).
    #[serde(default)]
    pub per_node_max: Option<PerNodeMax>,
    /// Whole nodes: nothing else runs there meanwhile (`--exclusive`).
    #[serde(default)]
    pub exclusive: bool,
    /// What its nodes must have (`--constraint`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// Only these nodes (`--nodelist`); empty: any.
    #[serde(default)]
    pub only_nodes: Vec<NodeName>,
    /// Not these nodes (`--exclude`).
    #[serde(default)]
    pub not_nodes: Vec<NodeName>,
}

impl Request {
    /// Does it accept GPUs of this kind? See [`mig::accepts`].
    #[must_use]
    pub fn accepts(&self, kind: &GpuKind) -> bool {
        mig::accepts(self.gpu_kind.iter().chain(&self.gpu_kinds_or), kind)
    }

    /// The parts of GPUs asked for; `None`: whole ones, or none.
    #[must_use]
    pub const fn gpu_parts(&self) -> Option<GpuParts> {
        match self.gpus {
            Some(GpuRequest::Parts(parts)) => Some(parts),
            _ => None,
        }
    }

    /// How much of each GPU it gets on a node with these: by memory, of the smallest that it
    /// accepts. `None`: it asks for whole ones, or none, or accepts none of these.
    pub fn gpu_part_on<'a>(&self, gpus: impl IntoIterator<Item = &'a Gpu>) -> Option<GpuMilli> {
        let parts = self.gpu_parts()?;
        let accepted = gpus.into_iter().filter(|gpu| self.accepts(&gpu.kind));
        Some(parts.each.of(accepted.map(|gpu| gpu.memory).min()?))
    }

    /// GPUs asked for in all by so many tasks on so many nodes, in thousandths; one node at least.
    /// Parts by memory count as a little less than whole: what they come to, the GPU says.
    #[must_use]
    pub fn gpus_in_all(&self, nodes: Nodes, tasks: Tasks) -> GpuMilli {
        let whole = |gpus: Gpus| GpuMilli::WHOLE.times(gpus.0);
        match self.gpus {
            None => GpuMilli::ZERO,
            Some(GpuRequest::PerNode(each)) => whole(each.times(nodes.0.max(1))),
            Some(GpuRequest::PerTask(each)) => whole(each.times(tasks.0)),
            Some(GpuRequest::Total(all)) => whole(all),
            Some(GpuRequest::Parts(GpuParts { devices, each })) => match each {
                PartSize::Milli(part) => part.times(devices.0),
                PartSize::Memory(_) => GpuMilli(whole(devices).0.saturating_sub(1)),
            },
        }
    }
}

impl Default for Request {
    /// One task, one CPU, anywhere.
    fn default() -> Self {
        Self {
            nodes: None,
            tasks: Tasks(1),
            tasks_per_node: None,
            cpus_per_task: Cpus(1),
            memory: None,
            gpus: None,
            gpu_kind: None,
            gpu_kinds_or: Vec::new(),
            tasks_min: None,
            grow: false,
            near: None,
            segment: None,
            per_node_max: None,
            exclusive: false,
            constraint: None,
            only_nodes: Vec::new(),
            not_nodes: Vec::new(),
        }
    }
}

/// What a job was given on one node. The ledger holds exactly this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub node: NodeName,
    /// How many of the job's tasks run there; ranks follow the order of shares.
    pub tasks: Tasks,
    /// Exactly these logical CPUs.
    pub cpus: CpuSet,
    pub memory: Bytes,
    /// Exactly these GPUs, rising.
    pub gpus: Vec<GpuIndex>,
    /// So much of each of them; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<GpuMilli>,
}

impl Share {
    /// What it holds of GPUs, in thousandths: shares of GPUs count as what they are.
    #[must_use]
    pub fn gpus_milli(&self) -> GpuMilli {
        let count = u32::try_from(self.gpus.len()).unwrap_or(u32::MAX);
        self.gpu_milli.unwrap_or(GpuMilli::WHOLE).times(count)
    }
}

/// What a job was given: one share a node, no node twice, at least one.
/// The order of nodes is the order of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Share>", into = "Vec<Share>")]
pub struct Allocation(Vec<Share>);

/// Shares that make no allocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// No share at all.
    #[error("an allocation needs at least one node")]
    Empty,
    #[error("node {0} appears twice in one allocation")]
    NodeTwice(NodeName),
}

impl Allocation {
    /// Checks that there is a share and no node twice.
    ///
    /// # Errors
    /// [`AllocationError`] otherwise.
    pub fn new(shares: Vec<Share>) -> Result<Self, AllocationError> {
        if shares.is_empty() {
            return Err(AllocationError::Empty);
        }
        let mut names: Vec<&NodeName> = shares.iter().map(|s| &s.node).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|w| w[0] == w[1]) {
            return Err(AllocationError::NodeTwice(pair[0].clone()));
        }
        Ok(Self(shares))
    }

    /// The shares, in rank order.
    #[must_use]
    pub fn shares(&self) -> &[Share] {
        &self.0
    }

    /// The share on a node.
    #[must_use]
    pub fn on(&self, node: &NodeName) -> Option<&Share> {
        self.0.iter().find(|s| s.node == *node)
    }

    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.0.iter().map(|s| s.tasks).sum()
    }

    #[must_use]
    pub fn cpus(&self) -> Cpus {
        self.0.iter().map(|s| Cpus(s.cpus.len())).sum()
    }

    #[must_use]
    pub fn gpus(&self) -> Gpus {
        Gpus(self.0.iter().map(|s| u32::try_from(s.gpus.len()).unwrap_or(u32::MAX)).sum())
    }
}

impl TryFrom<Vec<Share>> for Allocation {
    type Error = AllocationError;
    fn try_from(shares: Vec<Share>) -> Result<Self, AllocationError> {
        Self::new(shares)
    }
}

impl From<Allocation> for Vec<Share> {
    fn from(allocation: Allocation) -> Vec<Share> {
        allocation.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(node: &str) -> Share {
        Share {
            node: NodeName::new(node).unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first(1),
            memory: Bytes(1),
            gpus: vec![],
            gpu_milli: None,
        }
    }

    #[test]
    fn an_allocation_is_never_empty_and_names_a_node_once() {
        assert_eq!(Allocation::new(vec![]), Err(AllocationError::Empty));
        assert!(matches!(
            Allocation::new(vec![share("a"), share("b"), share("a")]),
            Err(AllocationError::NodeTwice(n)) if n.as_str() == "a"
        ));
        assert!(Allocation::new(vec![share("a"), share("b")]).is_ok());
    }
}
