//! Steps 3 and 4 put together: nodes for a job, and on each of them its CPUs, memory and GPUs.
//! Never gives anything away; the round does, through `trial`.

use crate::cluster::{Cluster, NodeIndex};
use crate::fit::cpus;
use crate::fit::demand::Part;
use crate::free::View;
use crate::score::nvlink;
use crate::shape::Shape;
use common::id::GpuIndex;
use common::resource::{Allocation, AllocationError, Share};

/// All that a job would get, in rank order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    pub shares: Vec<(NodeIndex, Share)>,
}

impl Placement {
    /// As an allocation.
    ///
    /// # Errors
    /// None for a placement that [`place`] made: it names at least one node, and none twice.
    pub fn allocation(&self) -> Result<Allocation, AllocationError> {
        Allocation::new(self.shares.iter().map(|(_, share)| share.clone()).collect())
    }
}

/// Finds a place on usable nodes with this much free; `None`: there is none.
pub(crate) fn place(
    cluster: &Cluster<'_>,
    view: &View<'_>,
    shape: &Shape<'_>,
) -> Option<Placement> {
    let layout = shape.lay_out(cluster, view, &shape.nodes.usable)?;
    let share = |(at, part)| (at, share(cluster, view, shape, at, part));
    Some(Placement { shares: layout.into_iter().map(share).collect() })
}

/// What a part of the job gets on a node that holds it. A job that asked for whole nodes gets all
/// CPUs and GPUs, and the memory it asked for (man sbatch, `--exclusive`).
fn share(
    cluster: &Cluster<'_>,
    view: &View<'_>,
    shape: &Shape<'_>,
    at: NodeIndex,
    part: Part,
) -> Share {
    let (node, free) = (cluster.node(at), view.on(at));
    let request = shape.demand.request;
    let amounts = shape.demand.amounts(part, node.inventory);
    let (cpus, gpus) = if request.exclusive {
        (free.cpus.clone(), free.gpus.clone())
    } else {
        let of_kind: Vec<GpuIndex> =
            free.gpus_of(node.inventory, request.gpu_kind.as_ref()).collect();
        let gpus = nvlink::choose(node.inventory, &of_kind, amounts.gpus.0 as usize);
        (cpus::choose(node.inventory, &free.cpus, amounts.cpus, &gpus), gpus)
    };
    Share {
        gpu_milli: None,
        node: node.name.clone(),
        tasks: part.tasks,
        cpus,
        memory: amounts.memory,
        gpus,
    }
}
