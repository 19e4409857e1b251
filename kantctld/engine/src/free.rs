//! What is free on one node, and what is free everywhere as one job may see it. Never decides who
//! gets it.

use crate::cluster::{Cluster, NodeIndex};
use crate::snapshot::NodeSnapshot;
use common::cpuset::CpuSet;
use common::gpu::GpuKind;
use common::id::GpuIndex;
use common::node::Inventory;
use common::resource::Share;
use common::unit::{Bytes, Cpus};
use std::collections::BTreeMap;

/// What is free on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Free {
    /// Free logical CPUs.
    pub cpus: CpuSet,
    /// How many CPUs lie on wholly free cores: the ones that can be given. Follows `cpus`.
    pub core_cpus: Cpus,
    /// Free memory.
    pub memory: Bytes,
    /// Free GPUs, rising.
    pub gpus: Vec<GpuIndex>,
    /// A job that asked for the whole node holds it.
    pub closed: bool,
}

impl Free {
    /// What a snapshot says is free.
    pub fn of(node: &NodeSnapshot) -> Self {
        Self {
            core_cpus: core_cpus(&node.inventory, &node.free_cpus),
            cpus: node.free_cpus.clone(),
            memory: node.free_memory,
            gpus: node.free_gpus.clone(),
            closed: node.exclusive,
        }
    }

    /// All of an idle node.
    pub fn whole(inventory: &Inventory) -> Self {
        Self {
            core_cpus: core_cpus(inventory, &inventory.cpus),
            cpus: inventory.cpus.clone(),
            memory: inventory.memory,
            gpus: rising(inventory.gpus.iter().map(|gpu| gpu.index)),
            closed: false,
        }
    }

    /// Is nothing of the node in use?
    pub fn is_idle(&self, inventory: &Inventory) -> bool {
        !self.closed
            && self.cpus == inventory.cpus
            && self.gpus.len() == inventory.gpus.len()
            && self.memory == inventory.memory
    }

    /// The free GPUs of a kind, rising; `None`: of any.
    pub fn gpus_of<'a>(
        &'a self,
        inventory: &'a Inventory,
        kind: Option<&'a GpuKind>,
    ) -> impl Iterator<Item = GpuIndex> + 'a {
        let is_kind = move |index: &GpuIndex| {
            kind.is_none_or(|kind| {
                inventory.gpus.iter().any(|gpu| gpu.index == *index && gpu.kind == *kind)
            })
        };
        self.gpus.iter().copied().filter(is_kind)
    }

    /// Gives a share away.
    pub fn take(&mut self, inventory: &Inventory, share: &Share) {
        self.cpus = self.cpus.difference(&share.cpus);
        self.core_cpus = core_cpus(inventory, &self.cpus);
        self.memory -= share.memory;
        self.gpus.retain(|index| !share.gpus.contains(index));
    }

    /// Takes a share back; what the node no longer has stays away.
    pub fn give_back(&mut self, inventory: &Inventory, share: &Share) {
        self.cpus = self.cpus.union(&share.cpus).intersection(&inventory.cpus);
        self.core_cpus = core_cpus(inventory, &self.cpus);
        self.memory = inventory.memory.min(self.memory + share.memory);
        let is_back = |index: &GpuIndex| self.gpus.contains(index) || share.gpus.contains(index);
        self.gpus = rising(inventory.gpus.iter().map(|gpu| gpu.index).filter(is_back));
        // Whoever has a closed node has it alone.
        self.closed = false;
    }
}

/// In the order of their numbers, which need not be that of the inventory.
fn rising(gpus: impl Iterator<Item = GpuIndex>) -> Vec<GpuIndex> {
    let mut gpus: Vec<GpuIndex> = gpus.collect();
    gpus.sort_unstable();
    gpus
}

/// How many of these CPUs lie on cores that are in the set as a whole.
fn core_cpus(inventory: &Inventory, cpus: &CpuSet) -> Cpus {
    let is_free = |core: &&CpuSet| core.iter().all(|cpu| cpus.contains(cpu));
    inventory.cores.iter().filter(is_free).map(|core| Cpus(core.len())).sum()
}

/// What is free everywhere, with some nodes shown otherwise than they are.
#[derive(Debug, Clone)]
pub(crate) struct View<'a> {
    free: &'a [Free],
    instead: BTreeMap<NodeIndex, Free>,
}

impl<'a> View<'a> {
    /// The nodes as they are.
    pub const fn plain(free: &'a [Free]) -> Self {
        Self { free, instead: BTreeMap::new() }
    }

    /// What is free on a node.
    pub fn on(&self, node: NodeIndex) -> &Free {
        self.instead.get(&node).unwrap_or(&self.free[node.0])
    }

    /// Hides what is held back on a node; `held.memory` of its free memory is hidden.
    pub fn hold_back(&mut self, cluster: &Cluster<'_>, node: NodeIndex, held: &Share) {
        let free = self.instead.entry(node).or_insert_with(|| self.free[node.0].clone());
        free.take(cluster.node(node).inventory, held);
    }
}
