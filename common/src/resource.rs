//! A job's requested and allocated resources.

mod apart;
mod gpu_list;
mod gpus;
mod resources;

pub use apart::{Apart, Spread};
pub use gpu_list::GpuList;
pub use gpus::GpuRequest;
pub use resources::Resources;

use crate::constraint::Constraint;
use crate::cpuset::CpuSet;
use crate::gpu::mig;
use crate::gpu::{Gpu, GpuKind};
use crate::gpu_parts::{GpuParts, PartSize};
use crate::id::{DataName, NodeName};
use crate::serde_skip::is_default;
use crate::topology::Nearness;
use crate::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes, Tasks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRequest {
    /// `--mem`: per node. Zero means all of the node's memory, as in Slurm.
    PerNode(Bytes),
    /// `--mem-per-cpu`
    PerCpu(Bytes),
    /// `--mem-per-gpu`
    PerGpu(Bytes),
}

/// The requested resources, which `job::check` checks first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// `--nodes`; `None`: as few as hold the tasks.
    #[serde(default)]
    pub nodes: Option<Nodes>,
    /// `--ntasks`: the total, at least one.
    pub tasks: Tasks,
    /// `--ntasks-per-node`: the maximum per node.
    #[serde(default)]
    pub tasks_per_node: Option<Tasks>,
    /// `--cpus-per-task`: logical CPUs, at least one.
    pub cpus_per_task: Cpus,
    /// `None`: the queue's default per CPU.
    #[serde(default)]
    pub memory: Option<MemoryRequest>,
    #[serde(default)]
    pub gpus: Option<GpuRequest>,
    /// Only GPUs of this kind (`--gpus=h100:4`).
    #[serde(default)]
    pub gpu_kind: Option<GpuKind>,
    /// Alternative kinds (`--gpus=h100|a100:4`), in ascending order; empty unless `gpu_kind` is
    /// given.
    #[serde(default)]
    pub gpu_kinds_or: Vec<GpuKind>,
    /// The minimum number of tasks (`--ntasks=2-8`); `None`: exactly `tasks`.
    #[serde(default)]
    pub tasks_min: Option<Tasks>,
    /// `--grow`: add nodes while the job runs, up to its maximum.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grow: bool,
    /// `--near`: the required closeness of its nodes.
    #[serde(default)]
    pub near: Option<Nearness>,
    /// `--segment`: the size of blocks of nodes; `near` applies within each block.
    #[serde(default)]
    pub segment: Option<Nodes>,
    /// The jobs from which it keeps apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
    /// `--exclusive`: whole nodes, without other jobs.
    #[serde(default)]
    pub exclusive: bool,
    /// `--constraint`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// `--nodelist`; empty: any nodes.
    #[serde(default)]
    pub only_nodes: Vec<NodeName>,
    /// `--exclude`
    #[serde(default)]
    pub not_nodes: Vec<NodeName>,
    /// `--data`: nodes that have these are preferred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataName>,
}

impl Request {
    /// Does it accept GPUs of this kind? See [`mig::accepts`].
    #[must_use]
    pub fn accepts(&self, kind: &GpuKind) -> bool {
        mig::accepts(self.gpu_kind.iter().chain(&self.gpu_kinds_or), kind)
    }

    /// The requested fractions of GPUs; `None`: whole GPUs, or none.
    #[must_use]
    pub const fn gpu_parts(&self) -> Option<GpuParts> {
        match self.gpus {
            Some(GpuRequest::Parts(parts)) => Some(parts),
            _ => None,
        }
    }

    /// The fraction of each GPU on a node with these GPUs; a memory size is relative to the
    /// smallest acceptable GPU. `None`: it requests whole GPUs or none, or accepts none of these.
    pub fn gpu_part_on<'a>(&self, gpus: impl IntoIterator<Item = &'a Gpu>) -> Option<GpuMilli> {
        let parts = self.gpu_parts()?;
        let accepted = gpus.into_iter().filter(|gpu| self.accepts(&gpu.kind));
        Some(parts.each.gpu_fraction(accepted.map(|gpu| gpu.memory).min()?))
    }

    /// The total of GPUs for these nodes and tasks, in thousandths; at least for one node. Memory
    /// sizes count as slightly less than a whole GPU, since the fraction depends on the GPU.
    #[must_use]
    pub fn total_gpus_milli(&self, nodes: Nodes, tasks: Tasks) -> GpuMilli {
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
            apart: None,
            exclusive: false,
            constraint: None,
            only_nodes: Vec::new(),
            not_nodes: Vec::new(),
            data: Vec::new(),
        }
    }
}

/// A job's allocated resources on one node, exactly as in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    pub node: NodeName,
    /// The number of the job's tasks there; ranks follow the order of shares.
    pub tasks: Tasks,
    pub cpus: CpuSet,
    pub memory: Bytes,
    /// In ascending order.
    #[schemars(with = "Vec<crate::id::GpuIndex>")]
    pub gpus: GpuList,
    /// The fraction of each GPU; `None`: whole GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<GpuMilli>,
}

impl Share {
    /// The total of GPUs in thousandths, with fractions.
    #[must_use]
    pub fn gpus_milli(&self) -> GpuMilli {
        let count = u32::try_from(self.gpus.len()).unwrap_or(u32::MAX);
        self.gpu_milli.unwrap_or(GpuMilli::WHOLE).times(count)
    }
}

/// A job's allocated resources: at least one share, each on a different node. The order of nodes is
/// the order of ranks. Copies share the shares, since a large job has thousands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Share>", into = "Vec<Share>")]
pub struct Allocation(Arc<[Share]>);

/// The shares are not a valid allocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    #[error("an allocation needs at least one node")]
    Empty,
    #[error("node {0} appears twice in one allocation")]
    NodeTwice(NodeName),
}

impl Allocation {
    /// Checks that there is at least one share, and no node twice.
    ///
    /// # Errors
    /// [`AllocationError`] otherwise.
    pub fn new(shares: Vec<Share>) -> Result<Self, AllocationError> {
        Self::from_shared(shares.into())
    }

    /// The same for shares that others have, too.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_shared(shares: Arc<[Share]>) -> Result<Self, AllocationError> {
        if shares.is_empty() {
            return Err(AllocationError::Empty);
        }
        if shares.is_sorted_by(|one, next| one.node < next.node) {
            return Ok(Self(shares));
        }
        let mut names: Vec<&NodeName> = shares.iter().map(|s| &s.node).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|w| w[0] == w[1]) {
            return Err(AllocationError::NodeTwice(pair[0].clone()));
        }
        Ok(Self(shares))
    }

    #[must_use]
    pub fn shares(&self) -> &[Share] {
        &self.0
    }

    /// The shares, for others to keep.
    #[must_use]
    pub const fn shares_arc(&self) -> &Arc<[Share]> {
        &self.0
    }

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
        allocation.0.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(node: &str) -> Share {
        Share {
            node: NodeName::new(node).unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first_n(1),
            memory: Bytes(1),
            gpus: GpuList::new(),
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
