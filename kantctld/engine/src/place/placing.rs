//! Steps 3 and 4 combined: nodes for a job, and on each of them its CPUs, memory and GPUs. Nothing
//! is taken here; the round does that through `trial`.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::class::Class;
use crate::model::cluster::free::Free;
use crate::model::cluster::node::{Holder, HoldingJob};
use crate::model::demand::Part;
use crate::model::job::WaitingJob;
use crate::place::fit::cpus;
use crate::place::fit::gang::{Layout, lay_out};
use crate::place::node_search::NodeSearch;
use crate::place::score::{fgd, nvlink};
use common::policy::Placement;
use common::resource::{Allocation, AllocationError, GpuList, Share};
use common::time::Time;
use common::unit::{Cpus, GpuMilli, Gpus};
use std::sync::Arc;

/// All that a job would get, in rank order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub nodes: Vec<NodeIndex>,
    /// The share on each of them.
    pub shares: Arc<[Share]>,
}

impl Placed {
    /// Converts the placement to an allocation.
    ///
    /// # Errors
    /// None for a placement that [`place`] made: it names at least one node, and none twice.
    pub fn allocation(&self) -> Result<Allocation, AllocationError> {
        Allocation::from_shared(self.shares.clone())
    }

    /// Each share with its node.
    pub fn shares_on(&self) -> impl Iterator<Item = (&Share, NodeIndex)> {
        self.shares.iter().zip(self.nodes.iter().copied())
    }

    /// What the job would hold on each node.
    pub fn holders(
        &self,
        job: &WaitingJob,
        until: Time,
    ) -> impl Iterator<Item = (NodeIndex, Holder)> {
        let holding = HoldingJob {
            key: job.key,
            until,
            shares: self.shares.clone(),
            whole_node: job.request.exclusive,
            group: job.request.group(),
        };
        self.nodes.iter().copied().zip(holding.holders())
    }
}

/// Finds a place for the job. `None`: there is none.
pub(crate) fn place(search: &NodeSearch<'_>) -> Option<Placed> {
    Some(with_chosen_devices(search, lay_out(search)?))
}

/// Chooses CPUs and GPUs for each node of a layout.
pub(crate) fn with_chosen_devices(search: &NodeSearch<'_>, layout: Layout) -> Placed {
    Placed {
        nodes: layout.iter().map(|(at, _)| *at).collect(),
        shares: layout.into_iter().map(|(at, part)| share_on_node(search, at, part)).collect(),
    }
}

/// What a part of the job gets on a node that holds it. A job that asked for whole nodes gets all
/// CPUs and GPUs, and the memory it asked for (man sbatch, `--exclusive`).
fn share_on_node(search: &NodeSearch<'_>, at: NodeIndex, part: Part) -> Share {
    let node = search.cluster().node(at);
    let class = &node.class;
    let request = search.shape.demand.request;
    let takes = search.usage_on_node(at, part);
    let but_for_kept = search.bookings.free_but_for_kept(search.trial, at, search.now);
    let but_for_kept = but_for_kept.filter(|free| free.holds(takes));
    let free = but_for_kept.as_ref().unwrap_or_else(|| search.trial.free(at));
    let mut gpu_milli = None;
    let (cpus, gpus) = if request.exclusive {
        (free.cpus.clone(), Free::indices(class, free.gpus))
    } else {
        let gpus: GpuList = if takes.milli == GpuMilli::ZERO {
            let of_kind = free.gpus_for(class, request);
            choose(of_kind, takes.resources.gpus, class)
        } else {
            gpu_milli = Some(takes.milli);
            let mut chosen = match search.placement {
                Placement::Fgd => fgd::best_gpus(search, at, free, takes),
                Placement::First => free.first_with(takes),
                Placement::Spread => free.emptiest(takes),
                _ => free.tightest(takes),
            };
            chosen.sort_unstable();
            chosen.into_iter().filter_map(|position| class.gpu(position)).collect()
        };
        (cpus::choose(class, &free.cpus, takes.resources.cpus.max(Cpus(1)), &gpus), gpus)
    };
    let name = node.name.clone();
    Share { node: name, tasks: part.tasks, cpus, memory: takes.resources.memory, gpus, gpu_milli }
}

/// Chooses the best linked GPUs. Where several kinds are accepted, all are of one kind if a single
/// kind has enough.
fn choose(free: u128, count: Gpus, class: &Class) -> GpuList {
    let kinds = class.kinds().iter().map(|(_, mask)| mask & free);
    let of_one_kind = kinds.filter(|mask| mask.count_ones() >= count.0);
    let mask = of_one_kind.min_by_key(|mask| mask.count_ones()).unwrap_or(free);
    nvlink::choose(class, mask, count.0 as usize)
}
