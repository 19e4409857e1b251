//! Whether nodes could hold a job if all were up and idle, and what they lack.

mod has;
mod near;

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::class::Class;
use crate::model::cluster::free::Free;
use crate::model::demand::{Part, most_tasks};
use crate::model::shape::Shape;
use common::reason::{Need, WaitReason};
use common::unit::{Cpus, Nodes, Tasks};
use std::sync::Arc;

pub(crate) use has::Has;
pub(crate) use near::{could_be_near, one_switch_of};

/// Whether these nodes could hold a job of this shape if all were up and idle.
///
/// # Errors
/// [`WaitReason::NeverFits`], in numbers; [`WaitReason::NoNodes`] if there are none.
pub(crate) fn could_fit(
    cluster: &ClusterIndex,
    shape: &Shape<'_>,
    sizes: &[(Arc<Class>, u32)],
) -> Result<(), WaitReason> {
    let mut shape = shape.clone();
    if let Some(least) = shape.demand.request.tasks_min {
        shape.demand = shape.demand.with_tasks(least);
    }
    let holding = |part: Part| -> u32 {
        sizes.iter().filter(|(class, _)| shape.fits_idle(class, part)).map(|(_, n)| n).sum()
    };
    let fits = match shape.node_count() {
        Some(nodes) => shape.could_hold(sizes, nodes),
        None => {
            let all = shape.demand.tasks;
            let mut left = all;
            sizes.iter().any(|(class, nodes)| {
                let room = most_tasks(all, |tasks| {
                    tasks.0 == 0 || shape.fits_idle(class, shape.demand.part(tasks))
                });
                left -= room.times(*nodes);
                left == Tasks::ZERO
            })
        }
    };
    if fits {
        return Ok(());
    }
    if cluster.len() == 0 {
        return Err(WaitReason::NoNodes);
    }
    let (need, part) = need(&shape, sizes);
    let has = |class: &Class| Has::of(class, shape.demand.request, &Free::of_idle_node(class));
    let useful = |class: &Class| has(class).capped_at_need(&need);
    let largest = sizes.iter().max_by_key(|(class, _)| useful(class)).and_then(|(class, _)| {
        let mut nodes = cluster.nodes().map(|(_, node)| node);
        let node = nodes.find(|node| node.class.key() == class.key())?;
        Some(Box::new(has(class).to_nearest(node)))
    });
    Err(WaitReason::NeverFits { nodes_fit: Nodes(holding(part)), largest, need })
}

/// What is needed on one node, and on how many nodes.
pub(crate) fn need(shape: &Shape<'_>, sizes: &[(Arc<Class>, u32)]) -> (Need, Part) {
    let request = shape.demand.request;
    let nodes = shape.node_count().unwrap_or_else(|| match request.tasks_per_node {
        None | Some(Tasks(0)) => Nodes(1),
        Some(Tasks(most)) => Nodes(shape.demand.tasks.0.div_ceil(most)),
    });
    let part = shape.demand.even_part(nodes, 0);
    let all_memory = sizes.iter().map(|(class, _)| class.inventory.memory).min();
    let all_cpus = sizes.iter().map(|(class, _)| class.core_cpus).min().unwrap_or_default();
    let amounts = shape.demand.amounts_of(part, all_memory.unwrap_or_default());
    let whole_nodes = if request.exclusive { all_cpus } else { Cpus::ZERO };
    let need = Need {
        nodes,
        cpus: amounts.cpus.max(whole_nodes),
        memory: amounts.memory,
        gpus: amounts.gpus,
        gpu_kind: request.gpu_kind.clone(),
        gpu_part: request.gpu_parts().map(|parts| parts.each),
    };
    (need, part)
}

pub(crate) fn to_nodes(nodes: usize) -> Nodes {
    Nodes(u32::try_from(nodes).unwrap_or(u32::MAX))
}
