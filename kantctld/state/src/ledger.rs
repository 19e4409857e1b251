//! The ledger: which attempt holds which CPUs, memory and GPUs of which node. The only place that
//! writes this down, and the last word on whether something is free: what does not fit is refused,
//! whoever decided it. Never decides who should hold what.
//!
//! What is held stays held when a node's inventory shrinks under it; only new takings are measured
//! against the inventory there is now.

use common::cpuset::CpuSet;
use common::id::{Attempt, AttemptId, GpuIndex, JobKey, NodeName};
use common::job::Phase;
use common::node::Inventory;
use common::resource::Share;
use common::unit::{Bytes, GpuMilli, Tasks};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Who holds what. Nodes where nothing is held are not named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    nodes: BTreeMap<NodeName, Holdings>,
}

/// What is held on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Holdings {
    holders: BTreeMap<AttemptId, Held>,
    cpus: CpuSet,
    memory: Bytes,
    /// All GPUs of which something is held.
    gpus: BTreeSet<GpuIndex>,
    /// How much is held of those that are shared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    parts: BTreeMap<GpuIndex, GpuMilli>,
}

/// What one attempt holds on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub cpus: CpuSet,
    pub memory: Bytes,
    pub gpus: BTreeSet<GpuIndex>,
    /// So much of each of them; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<GpuMilli>,
    /// Nothing else may run beside it.
    pub exclusive: bool,
}

/// Why a start of a round could not be carried out. The next round decides anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StartRefusal {
    #[error("there is no such job")]
    UnknownJob,
    /// It does not wait any more.
    #[error("it is {0}")]
    NotPending(Phase),
    /// The round thought of another attempt.
    #[error("its next attempt is {next}")]
    OtherAttempt { next: Attempt },
    #[error("it is held")]
    Held,
    /// What it waits for of other jobs has not come.
    #[error("it waits for other jobs")]
    Awaits,
    #[error("there is no node {0}")]
    UnknownNode(NodeName),
    /// Drained or out of contact meanwhile.
    #[error("node {0} takes no new jobs now")]
    NodeUnusable(NodeName),
    /// More, or other things, than the node has.
    #[error("node {0} does not have all of that")]
    NotThere(NodeName),
    /// Taken by somebody else.
    #[error("some of that is taken on node {0}")]
    Taken(NodeName),
    /// The node is wanted whole, or another job has it whole.
    #[error("node {0} cannot be shared")]
    NotShared(NodeName),
    /// A share without a CPU, with a GPU twice, or with more of a GPU than there is.
    #[error("the share on node {0} makes no sense")]
    Malformed(NodeName),
    /// Fewer tasks than it is content with, or more than it asked for.
    #[error("it asked for {least} to {most} tasks and would get {given}")]
    OtherTasks {
        /// It is content with so many.
        least: Tasks,
        /// It asked for so many.
        most: Tasks,
        /// It would get so many.
        given: Tasks,
    },
    /// Another part than it asked for, or parts of another number of GPUs.
    #[error("it asked for other parts of GPUs than it would get on node {0}")]
    OtherPart(NodeName),
    /// Its deadline is over.
    #[error("its deadline is over")]
    DeadlineOver,
    /// An entry of its group could not start.
    #[error("job {0}, with which it starts, could not")]
    GroupBroken(JobKey),
    /// One component of a set without the others.
    #[error("it starts only with all components of its set")]
    NotWhole,
    /// It stands twice in its group.
    #[error("it stands twice in its group")]
    TwiceInGroup,
    /// A victim that is not this attempt any more, or holds nothing.
    #[error("it holds nothing that could be given up")]
    NothingToYield,
    /// It is another attempt, does not run, does not grow, or some of its nodes come or go.
    #[error("it does not run as it did, or takes no more nodes")]
    DoesNotGrow,
    /// A node that this attempt has or had.
    #[error("it has or had node {0} already")]
    HadBefore(NodeName),
    /// The job it is to yield to does not wait any more.
    #[error("job {0}, which it was to yield to, does not wait any more")]
    NobodyWaits(JobKey),
}

impl Ledger {
    /// What is held on a node; `None`: nothing.
    #[must_use]
    pub fn on(&self, node: &NodeName) -> Option<&Holdings> {
        self.nodes.get(node)
    }

    /// Every node where something is held.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeName, &Holdings)> {
        self.nodes.iter()
    }

    /// The attempts that hold something on a node.
    pub fn holders(&self, node: &NodeName) -> impl Iterator<Item = AttemptId> + '_ {
        self.on(node).into_iter().flat_map(|h| h.holders.keys().copied())
    }

    /// Could this share be taken now?
    ///
    /// # Errors
    /// What is in the way.
    pub fn check(
        &self,
        share: &Share,
        exclusive: bool,
        inventory: &Inventory,
    ) -> Result<(), StartRefusal> {
        let node = || share.node.clone();
        let gpus: BTreeSet<GpuIndex> = share.gpus.iter().copied().collect();
        let repeats = gpus.len() != share.gpus.len();
        if share.cpus.is_empty() || share.tasks.0 == 0 || repeats || !is_part(share) {
            return Err(StartRefusal::Malformed(node()));
        }
        let has_gpu = |index: &GpuIndex| inventory.gpus.iter().any(|gpu| gpu.index == *index);
        if !share.cpus.is_subset(&inventory.cpus) || !gpus.iter().all(has_gpu) {
            return Err(StartRefusal::NotThere(node()));
        }
        if share.memory > inventory.memory {
            return Err(StartRefusal::NotThere(node()));
        }
        let Some(held) = self.on(&share.node) else { return Ok(()) };
        if exclusive || held.is_exclusive() {
            return Err(StartRefusal::NotShared(node()));
        }
        let fits_memory = held.memory + share.memory <= inventory.memory;
        let part = share.gpu_milli.unwrap_or(GpuMilli::WHOLE);
        let fits_gpus = gpus.iter().all(|gpu| held.gpu_milli(*gpu) + part <= GpuMilli::WHOLE);
        if held.cpus.intersects(&share.cpus) || !fits_gpus || !fits_memory {
            return Err(StartRefusal::Taken(node()));
        }
        Ok(())
    }

    /// Writes a share down that was checked.
    pub(crate) fn take(&mut self, id: AttemptId, share: &Share, exclusive: bool) {
        let gpus = share.gpus.iter().copied().collect();
        let (cpus, memory, gpu_milli) = (share.cpus.clone(), share.memory, share.gpu_milli);
        let held = Held { cpus, memory, gpus, gpu_milli, exclusive };
        let holdings = self.nodes.entry(share.node.clone()).or_default();
        holdings.holders.insert(id, held);
        holdings.sum();
    }

    /// Frees what an attempt holds on a node.
    pub(crate) fn free(&mut self, id: AttemptId, node: &NodeName) {
        let Some(holdings) = self.nodes.get_mut(node) else { return };
        holdings.holders.remove(&id);
        if holdings.holders.is_empty() {
            self.nodes.remove(node);
        } else {
            holdings.sum();
        }
    }
}

impl Holdings {
    pub fn holders(&self) -> impl Iterator<Item = (AttemptId, &Held)> {
        self.holders.iter().map(|(id, held)| (*id, held))
    }

    #[must_use]
    pub const fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    #[must_use]
    pub const fn memory(&self) -> Bytes {
        self.memory
    }

    /// All GPUs of which something is held.
    #[must_use]
    pub const fn gpus(&self) -> &BTreeSet<GpuIndex> {
        &self.gpus
    }

    /// How much of a GPU is held: 0 to [`GpuMilli::WHOLE`].
    #[must_use]
    pub fn gpu_milli(&self, gpu: GpuIndex) -> GpuMilli {
        let whole = if self.gpus.contains(&gpu) { GpuMilli::WHOLE } else { GpuMilli::ZERO };
        self.parts.get(&gpu).copied().unwrap_or(whole)
    }

    /// How much is held of each GPU that jobs share, rising.
    #[must_use]
    pub const fn shared_gpus(&self) -> &BTreeMap<GpuIndex, GpuMilli> {
        &self.parts
    }

    /// Does an attempt have the node for itself?
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.holders.values().any(|held| held.exclusive)
    }

    fn sum(&mut self) {
        let none = CpuSet::new();
        self.cpus = self.holders.values().fold(none, |sum, held| sum.union(&held.cpus));
        self.memory = self.holders.values().map(|held| held.memory).sum();
        self.gpus = self.holders.values().flat_map(|held| held.gpus.iter().copied()).collect();
        self.parts.clear();
        for held in self.holders.values() {
            let Some(part) = held.gpu_milli else { continue };
            held.gpus.iter().for_each(|gpu| *self.parts.entry(*gpu).or_default() += part);
        }
    }
}

/// A part of GPUs is some of each, and of one at least; a share without one has its GPUs whole.
fn is_part(share: &Share) -> bool {
    share
        .gpu_milli
        .is_none_or(|part| (1..=GpuMilli::WHOLE.0).contains(&part.0) && !share.gpus.is_empty())
}
