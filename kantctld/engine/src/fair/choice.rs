//! The choice of a node for a task, among those that have room.
//!
//! Source: KAI Scheduler, node order: first a node where the task joins others on a shared device,
//! then one that is free now, then one that others have to leave; nodes where it would waste GPUs
//! come last; then the fullest.
//!
//! Example. Nodes a and b have 8 GPUs each; job 1 runs on a with 2, job 2 on b with 4. Job 3 asks
//! for 2: both nodes have room, b is fuller, so b.

use super::board::{Board, State};
use super::seat::{Found, glance, look};
use super::world::{Affinity, GpuAsk, NodeAt, TaskAt};

/// The best of these nodes for a task. Without `may_start`, a place that is free now counts no more
/// than one that is about to become free.
pub(super) fn choose(board: &Board<'_>, task: TaskAt, nodes: &[NodeAt]) -> Option<Found> {
    let taken = taken(board, task);
    let wants_gpus = !board.at_most(task).gpu_milli.eq(&0);
    let free = |node: NodeAt| {
        let load = &board.nodes[node.0];
        if !wants_gpus {
            load.cpu.later()
        } else if matches!(board.world.tasks[task.0].gpus, GpuAsk::Slices(_)) {
            load.slices.values().map(super::ground::Load::later).sum()
        } else {
            board.devices(node).iter().map(super::ground::Load::later).sum()
        }
    };
    // Best first: joins a shared device, free now, a node without GPUs for a CPU job, fullest,
    // name.
    let rank = |((is_now, joins), node): &((bool, bool), NodeAt)| {
        let wastes = !wants_gpus && board.world.nodes[node.0].gpus > 0;
        (!joins, !is_now, wastes, free(*node), *node)
    };
    let open = nodes.iter().filter(|node| taken.binary_search(node).is_err());
    let found = open.filter_map(|node| Some((glance(board, task, *node)?, *node)));
    let (_, best) = found.filter(|(_, node)| is_allowed(board, task, *node)).min_by_key(rank)?;
    look(board, task, best)
}

/// The nodes of the other tasks of its group, if no two of them may share a node; ascending.
fn taken(board: &Board<'_>, task: TaskAt) -> Vec<NodeAt> {
    let job = &board.world.jobs[board.world.job_of[task.0].0];
    if !job.is_apart {
        return Vec::new();
    }
    let group = board.world.tasks[task.0].group;
    let beside = job.tasks.iter().filter(|other| board.world.tasks[other.0].group == group);
    let place = |task: &TaskAt| board.seats[task.0].place.as_ref();
    let mut nodes: Vec<NodeAt> = beside.filter_map(place).map(|place| place.node).collect();
    nodes.sort_unstable();
    nodes
}

/// Whether the task's affinities allow this node.
fn is_allowed(board: &Board<'_>, task: TaskAt, node: NodeAt) -> bool {
    let asks = &board.world.tasks[task.0];
    asks.near.as_ref().is_none_or(|near| meets(board, task, near, node))
        && asks.apart.as_ref().is_none_or(|apart| !meets(board, task, apart, node))
}

/// Whether another task with these labels is in the same domain. The first such task may go
/// anywhere, if it has the labels itself and no other task has them.
fn meets(board: &Board<'_>, task: TaskAt, affinity: &Affinity, node: NodeAt) -> bool {
    let has = |at: usize| {
        let labels = &board.world.tasks[at].labels;
        affinity.labels.iter().all(|(name, value)| labels.get(name) == Some(value))
    };
    let others = board.seats.iter().enumerate().filter(|(at, seat)| {
        *at != task.0 && has(*at) && seat.place.is_some() && seat.state != State::Out
    });
    others.into_iter().any(|(_, seat)| {
        let other = seat.place.as_ref().map(|place| place.node);
        other.is_some_and(|other| is_same(board, affinity.level.as_deref(), other, node))
    })
}

fn is_same(board: &Board<'_>, level: Option<&str>, a: NodeAt, b: NodeAt) -> bool {
    let Some(level) = level else { return a == b };
    let of = |at: NodeAt| board.world.nodes[at.0].labels.get(level);
    of(a).is_some() && of(a) == of(b)
}
