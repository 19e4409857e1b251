//! What the jobs of a shape count for in fair shares, before their nodes are known; and what shares
//! of nodes count for.
//!
//! Source: ours. A job that asks for whole nodes counts as the smallest nodes that fit; a share of
//! a GPU by memory as the share of the smallest sufficient GPU; GPUs by the node, without a number
//! of nodes, as if each task had its own node.
//!
//! Example, two nodes of 8 GPUs: 3 tasks with 2 GPUs each count as 6 GPUs, a whole node as 8.

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::class::Class;
use crate::model::demand::{Demand, Part};
use crate::model::shape::Shape;
use crate::model::shares::Amount;
use common::resource::GpuRequest;
use common::unit::{Bytes, Nodes, Tasks};

/// What a job counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Asks {
    /// With its minimum of tasks.
    pub least: Amount,
    /// With all of its tasks.
    pub most: Amount,
    /// For each task above the minimum.
    pub each: Amount,
}

impl Asks {
    pub fn of(cluster: &ClusterIndex, shape: &Shape<'_>) -> Self {
        let request = shape.demand.request;
        let sizes = if request.exclusive { usable_node_sizes(cluster, shape) } else { Vec::new() };
        let most = amount_for_tasks(shape, &sizes, shape.demand.tasks);
        let Some(least) = request.tasks_min else { return Self { least: most, most, each: most } };
        let each = amount_for_tasks(shape, &sizes, Tasks(1));
        Self { least: amount_for_tasks(shape, &sizes, least), most, each }
    }

    /// With this many tasks more than its minimum.
    pub fn with_more(&self, tasks: u32) -> Amount {
        let each = self.each;
        self.least.zip(&each, |least, each| least.saturating_add(each * i64::from(tasks)))
    }
}

/// With this many tasks.
fn amount_for_tasks(shape: &Shape<'_>, sizes: &[(u32, u32)], tasks: Tasks) -> Amount {
    let demand = shape.demand.with_tasks(tasks);
    let many = nodes_of(shape, tasks).or_else(|| fewest_nodes(&demand, sizes));
    let largest = demand.even_part(many.unwrap_or(Nodes(1)), 0).gpus.0;
    let suits = sizes.iter().map(|(_, gpus)| *gpus).filter(|gpus| *gpus >= largest);
    let gpus_least = suits.min().unwrap_or(0);
    match many {
        Some(many) => {
            let parts = demand.even_parts(many).into_iter();
            let amounts = parts.map(|part| of_part(&demand, part, gpus_least));
            amounts.fold(Amount::default(), |sum, one| sum.plus(&one))
        }
        None => {
            let one = of_part(&demand, demand.part(Tasks(1)), gpus_least);
            one.zip(&one, |one, _| one.saturating_mul(i64::from(tasks.0)))
        }
    }
}

/// The number of nodes of this many of its tasks, if that is known.
fn nodes_of(shape: &Shape<'_>, tasks: Tasks) -> Option<Nodes> {
    let request = shape.demand.request;
    let is_spread = request.nodes.is_none() && request.tasks_per_node == Some(Tasks(1));
    if is_spread && shape.demand.gpus_total().is_none() {
        return Some(Nodes(tasks.0));
    }
    // One task alone, of a job that may put several on a node, counts as a task and not as a node.
    if request.tasks_min.is_some() && request.nodes.is_none() {
        return shape.demand.gpus_total().and_then(|_| shape.node_count());
    }
    shape.node_count()
}

fn of_part(demand: &Demand<'_>, part: Part, gpus_least: u32) -> Amount {
    let request = demand.request;
    let amounts = demand.amounts_of(part, Bytes::ZERO);
    let gpu_milli = match request.gpus {
        _ if request.exclusive => i64::from(part.gpus.0.max(gpus_least)) * 1000,
        Some(GpuRequest::Parts(_)) => {
            demand.parts.map_or(0, |parts| i64::from(parts.most.times(parts.devices.0).0))
        }
        _ => i64::from(part.gpus.0) * 1000,
    };
    Amount {
        cpu_milli: i64::from(amounts.cpus.0) * 1000,
        memory_bytes: saturating_i64(amounts.memory),
        gpu_milli,
    }
}

/// The CPUs and GPUs of the nodes that the shape may have and that are up.
fn usable_node_sizes(cluster: &ClusterIndex, shape: &Shape<'_>) -> Vec<(u32, u32)> {
    let request = shape.demand.request;
    let holds = |class: &Class| request.gpus.is_none() || class.accepted_positions(request) != 0;
    let nodes = cluster.nodes().filter(|(at, node)| {
        node.is_usable() && shape.may_ever_use(cluster, *at) && holds(&node.class)
    });
    let mut sizes: Vec<(u32, u32)> =
        nodes.map(|(_, node)| (node.class.core_cpus.0, node.class.gpu_count().0)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The number of nodes for a job that asks for whole nodes but for no number of them: as many as it
/// needs of the largest. `None` for an elastic job, which is counted task by task, or without
/// nodes.
fn fewest_nodes(demand: &Demand<'_>, sizes: &[(u32, u32)]) -> Option<Nodes> {
    let request = demand.request;
    if sizes.is_empty() || request.tasks_min.is_some() {
        return None;
    }
    let most = |of: fn(&(u32, u32)) -> u32| sizes.iter().map(of).max().unwrap_or(1).max(1);
    let per_node = request.tasks_per_node.map_or(u32::MAX, |tasks| tasks.0.max(1));
    let (tasks, gpus) = (demand.tasks.0, demand.part(demand.tasks).gpus.0);
    let cpus = tasks.saturating_mul(request.cpus_per_task.0);
    let by_size = cpus.div_ceil(most(|one| one.0)).max(gpus.div_ceil(most(|one| one.1)));
    Some(Nodes(by_size.max(tasks.div_ceil(per_node)).max(1)))
}

fn saturating_i64(of: Bytes) -> i64 {
    i64::try_from(of.0).unwrap_or(i64::MAX)
}
