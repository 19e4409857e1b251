//! The ledger: which attempt holds which CPUs, memory and GPUs of which node. This is the only
//! record of allocations, and the final check: what does not fit is refused, even if a round
//! decided it.
//!
//! An allocation stays valid when a node's inventory shrinks below it. Only new allocations are
//! checked against the current inventory.

mod holdings;

pub use holdings::{Held, Holdings};

use crate::by_node::ByNode;
use common::id::{Attempt, AttemptId, GpuIndex, JobKey, NodeName};
use common::job::Phase;
use common::node::Inventory;
use common::resource::Share;
use common::unit::{GpuMilli, Tasks};
use serde::{Deserialize, Serialize, Serializer};

/// All allocations.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Nodes without allocations are not stored. They stay here, for the next ones.
    #[serde(serialize_with = "with_allocations")]
    nodes: ByNode<Holdings>,
}

impl PartialEq for Ledger {
    fn eq(&self, other: &Self) -> bool {
        self.nodes().eq(other.nodes())
    }
}

impl Eq for Ledger {}

fn with_allocations<S: Serializer>(
    nodes: &ByNode<Holdings>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(nodes.iter().filter(|(_, holdings)| !holdings.is_empty()))
}

/// The reason why an entry of a round could not be carried out. The next round decides again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StartRefusal {
    #[error("there is no such job")]
    UnknownJob,
    #[error("it is {0}")]
    NotPending(Phase),
    /// The round referred to another attempt.
    #[error("its next attempt is {next}")]
    OtherAttempt { next: Attempt },
    #[error("it is held")]
    Held,
    /// The job's dependencies are not satisfied.
    #[error("it waits for other jobs")]
    Awaits,
    #[error("there is no node {0}")]
    UnknownNode(NodeName),
    /// The node was drained or lost contact meanwhile.
    #[error("node {0} takes no new jobs now")]
    NodeUnusable(NodeName),
    /// The node lacks some of the resources.
    #[error("node {0} does not have all of these resources")]
    NotThere(NodeName),
    /// Another attempt holds some of the resources.
    #[error("some of these resources are in use on node {0}")]
    Taken(NodeName),
    /// The job wants the whole node, or another job has it whole.
    #[error("node {0} cannot be shared")]
    NotShared(NodeName),
    /// A share without a CPU or a task, with a GPU twice, or with an invalid part of a GPU.
    #[error("the share on node {0} is invalid")]
    Malformed(NodeName),
    /// The number of tasks is outside the job's range.
    #[error("it requested {least} to {most} tasks and would get {given}")]
    OtherTasks {
        /// The minimum of the job.
        least: Tasks,
        /// The maximum of the job.
        most: Tasks,
        /// The number that the job would get.
        given: Tasks,
    },
    /// The part of a GPU or the number of GPUs differs from the request.
    #[error("it requested other parts of GPUs than it would get on node {0}")]
    OtherPart(NodeName),
    #[error("its deadline is over")]
    DeadlineOver,
    /// Another entry of the group could not start.
    #[error("job {0}, with which it starts, could not start")]
    GroupBroken(JobKey),
    /// The entry has only some components of a set.
    #[error("it starts only with all components of its set")]
    NotWhole,
    /// The job is in its group twice.
    #[error("it is in its group twice")]
    TwiceInGroup,
    /// The victim is not this attempt any more, or holds nothing to give up.
    #[error("it holds nothing that could be given up")]
    NothingToYield,
    /// The attempt is no longer current, does not run, does not grow, or has nodes that join or
    /// leave.
    #[error("its nodes have changed, or it takes no more nodes")]
    DoesNotGrow,
    /// The attempt has or had this node.
    #[error("it has or had node {0} already")]
    HadBefore(NodeName),
    /// The preemptor does not wait any more.
    #[error("job {0}, for which it would be preempted, no longer waits")]
    NoJobWaits(JobKey),
}

impl Ledger {
    /// The allocations on a node; `None` if there are none.
    #[must_use]
    pub fn holdings_on(&self, node: &NodeName) -> Option<&Holdings> {
        self.nodes.get(node).filter(|holdings| !holdings.is_empty())
    }

    /// Every node with allocations.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeName, &Holdings)> {
        self.nodes.iter().filter(|(_, holdings)| !holdings.is_empty())
    }

    /// The attempts that hold something on a node.
    pub fn holders(&self, node: &NodeName) -> impl Iterator<Item = AttemptId> + '_ {
        self.holdings_on(node).into_iter().flat_map(|h| h.holders().map(|(id, _)| id))
    }

    /// Checks that a share could be allocated now.
    ///
    /// # Errors
    /// The reason why it could not.
    pub fn check(
        &self,
        share: &Share,
        exclusive: bool,
        inventory: &Inventory,
    ) -> Result<(), StartRefusal> {
        let node = || share.node.clone();
        let gpus = &share.gpus;
        let repeats = (1..gpus.len()).any(|at| gpus[..at].contains(&gpus[at]));
        if share.cpus.is_empty() || share.tasks.0 == 0 || repeats || !has_valid_part(share) {
            return Err(StartRefusal::Malformed(node()));
        }
        let has_gpu = |index: &GpuIndex| inventory.gpus.iter().any(|gpu| gpu.index == *index);
        if !share.cpus.is_subset(&inventory.cpus) || !gpus.iter().all(has_gpu) {
            return Err(StartRefusal::NotThere(node()));
        }
        if share.memory > inventory.memory {
            return Err(StartRefusal::NotThere(node()));
        }
        let Some(held) = self.holdings_on(&share.node) else { return Ok(()) };
        if exclusive || held.is_exclusive() {
            return Err(StartRefusal::NotShared(node()));
        }
        let fits_memory = held.memory() + share.memory <= inventory.memory;
        let part = share.gpu_milli.unwrap_or(GpuMilli::WHOLE);
        let fits_gpus = gpus.iter().all(|gpu| held.gpu_milli(*gpu) + part <= GpuMilli::WHOLE);
        if held.cpus().intersects(&share.cpus) || !fits_gpus || !fits_memory {
            return Err(StartRefusal::Taken(node()));
        }
        Ok(())
    }

    /// Records a share that was checked.
    pub(crate) fn take(&mut self, id: AttemptId, share: &Share, exclusive: bool) {
        let mut gpus = share.gpus.clone();
        gpus.sort_unstable();
        let (cpus, memory, gpu_milli) = (share.cpus.clone(), share.memory, share.gpu_milli);
        let held = Held { cpus, memory, gpus, gpu_milli, exclusive };
        self.nodes.get_or_default(&share.node).insert(id, held);
    }

    /// Frees all that an attempt holds on a node.
    pub(crate) fn release(&mut self, id: AttemptId, node: &NodeName) {
        if let Some(holdings) = self.nodes.get_mut(node) {
            holdings.remove(id);
        }
    }
}

/// Whether the share's part of a GPU is valid: absent, or above zero, at most a whole GPU, and with
/// at least one GPU.
fn has_valid_part(share: &Share) -> bool {
    share
        .gpu_milli
        .is_none_or(|part| (1..=GpuMilli::WHOLE.0).contains(&part.0) && !share.gpus.is_empty())
}
