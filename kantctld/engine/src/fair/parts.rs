//! The tasks of a waiting job, as a plan counts them: one per node or one per task, with the nodes
//! that they may use.

use super::view::{SLOTS, View, amount};
use super::world::{GpuAsk, GroupAt, Node, NodeAt, Task, World};
use crate::cluster::NodeIndex;
use crate::demand::{Demand, Part};
use crate::job::WaitingJob;
use crate::planner::RoundState;
use crate::shape_cache::ShapeIndex;
use common::resource::GpuRequest;
use common::unit::{GpuMilli, Nodes, Tasks};
use std::sync::Arc;

impl<'a> View<'a> {
    /// The tasks of a waiting job, one per node or one per task, and how many of them are its
    /// minimum.
    pub(super) fn parts(
        &mut self,
        desk: &RoundState<'a>,
        job: &WaitingJob,
        index: ShapeIndex,
    ) -> (Vec<Task>, usize) {
        let shape = desk.shapes.get(index);
        let nodes = self.nodes_for(desk, index);
        let (demand, request) = (&shape.demand, &job.request);
        let whole =
            if request.exclusive { sizes(&self.world, nodes.as_deref()) } else { Vec::new() };
        let many = shape.nodes().or_else(|| fewest_nodes(demand, &whole));
        let largest = demand.even_part(many.unwrap_or(Nodes(1)), 0).gpus.0;
        let suits = whole.iter().map(|(_, gpus)| *gpus).filter(|gpus| *gpus >= largest);
        let least_gpus = suits.min().unwrap_or(0);
        let task = |part: Part| {
            let amounts = demand.amounts_of(part, common::unit::Bytes::ZERO);
            let gpus = match request.gpus {
                _ if request.exclusive => match part.gpus.0.max(least_gpus) {
                    0 => GpuAsk::None,
                    all => GpuAsk::Whole(all),
                },
                Some(GpuRequest::Parts(_)) => demand.parts.map_or(GpuAsk::None, |parts| {
                    let milli = i64::from(parts.most.0);
                    GpuAsk::Part { milli, devices: parts.devices.0 }
                }),
                _ if part.gpus.0 == 0 => GpuAsk::None,
                _ => GpuAsk::Whole(part.gpus.0),
            };
            Task {
                cpu_milli: i64::from(amounts.cpus.0) * 1000,
                memory_bytes: amount(amounts.memory.0),
                gpus,
                group: Some(GroupAt(0)),
                only_nodes: nodes.clone(),
                slots: if request.exclusive { SLOTS } else { 1 },
                ..Task::default()
            }
        };
        match many {
            Some(many) => {
                let tasks: Vec<Task> = demand.even_parts(many).into_iter().map(task).collect();
                // With one task on each node, the minimum of tasks is the minimum of nodes.
                let is_range = request.nodes.is_none() && request.tasks_per_node == Some(Tasks(1));
                let fewest = request.tasks_min.filter(|_| is_range).map(|least| least.0 as usize);
                let least = fewest.unwrap_or(tasks.len());
                (tasks, least)
            }
            None => {
                let all = demand.tasks.0;
                let tasks = (0..all).map(|_| task(demand.part(Tasks(1)))).collect();
                let least = request.tasks_min.map_or(all, |least| least.0);
                (tasks, least as usize)
            }
        }
    }

    /// The nodes that jobs of a shape may use; `None`: all.
    fn nodes_for(&mut self, desk: &RoundState<'a>, index: ShapeIndex) -> Option<Arc<Vec<NodeAt>>> {
        let room = desk.shapes.room_of(index);
        if let Some(known) = self.lists.get(&room) {
            return known.clone();
        }
        let (shape, floor) = (desk.shapes.get(index), &desk.snapshot.cluster);
        let request = shape.demand.request;
        let asks_whole = request.gpu_kind.is_none() && request.gpu_parts().is_none();
        let has_mig = || floor.class_sizes().iter().any(|(class, _)| class.has_mig());
        let asks_none = request.gpus.is_none();
        let is_of_any = asks_whole && (asks_none || !has_mig());
        let list = if shape.may_have_all() && is_of_any {
            None
        } else {
            let may = |at: NodeIndex| {
                let class = &floor.node(at).class;
                let holds = request.gpu_parts().is_none() || class.part(request) <= GpuMilli::WHOLE;
                let accepts = asks_none || class.accepted(request) != 0;
                shape.may_have(floor, at) && accepts && holds
            };
            let nodes = floor.nodes().map(|(at, _)| at).filter(|at| may(*at));
            Some(Arc::new(nodes.map(|at| NodeAt(at.at())).collect()))
        };
        self.lists.insert(room, list.clone());
        list
    }
}

/// The CPUs and GPUs of those nodes that are up.
fn sizes(world: &World, only: Option<&Vec<NodeAt>>) -> Vec<(u32, u32)> {
    let may = |at: &NodeAt| only.is_none_or(|only| only.binary_search(at).is_ok());
    let nodes = (0..world.nodes.len()).map(NodeAt).filter(may).map(|at| &world.nodes[at.0]);
    let cpus = |node: &Node| u32::try_from(node.cpu_milli / 1000).unwrap_or(u32::MAX);
    nodes.filter(|node| !node.is_closed).map(|node| (cpus(node), node.gpus)).collect()
}

/// The number of nodes for a job that asks for whole nodes but for no number of them: as many as it
/// needs of the largest. `None` for an elastic job, which is counted task by task, or without
/// nodes.
fn fewest_nodes(demand: &Demand<'_>, whole: &[(u32, u32)]) -> Option<Nodes> {
    let request = demand.request;
    if whole.is_empty() || request.tasks_min.is_some() {
        return None;
    }
    let most = |of: fn(&(u32, u32)) -> u32| whole.iter().map(of).max().unwrap_or(1).max(1);
    let per_node = request.tasks_per_node.map_or(u32::MAX, |tasks| tasks.0.max(1));
    let (tasks, gpus) = (demand.tasks.0, demand.part(demand.tasks).gpus.0);
    let cpus = tasks.saturating_mul(request.cpus_per_task.0);
    let by_size = cpus.div_ceil(most(|one| one.0)).max(gpus.div_ceil(most(|one| one.1)));
    Some(Nodes(by_size.max(tasks.div_ceil(per_node)).max(1)))
}
