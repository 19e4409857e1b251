//! Which of the nodes that have room a task gets. Never whether it starts.
//!
//! Source: KAI Scheduler, node order: one that shares a device already before one that is free now
//! before one where others have to go; then what would waste GPUs last; then the fullest.
//!
//! Example. Nodes a and b have 8 GPUs each; job 1 runs on a with 2, job 2 on b with 4. Job 3 asks
//! for 2: both have room, b is fuller, so b.

use super::board::{Board, State};
use super::seat::{Found, glance, look};
use super::world::{Affinity, GpuAsk, NodeAt, TaskAt};

/// The best node of these for a task. `may_start`: else a place that is free now counts as little
/// as one that has to come free.
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
    // Best first: joins others, free now, for CPU jobs a node without GPUs, the fullest, the name.
    let rank = |((is_now, joins), node): &((bool, bool), NodeAt)| {
        let wastes = !wants_gpus && board.world.nodes[node.0].gpus > 0;
        (!joins, !is_now, wastes, free(*node), *node)
    };
    let open = nodes.iter().filter(|node| taken.binary_search(node).is_err());
    let found = open.filter_map(|node| Some((glance(board, task, *node)?, *node)));
    let (_, best) = found.filter(|(_, node)| is_allowed(board, task, *node)).min_by_key(rank)?;
    look(board, task, best)
}

/// Where other tasks of its group sit, if no two of its job may share a node; rising.
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

/// Do its affinities let it go there?
fn is_allowed(board: &Board<'_>, task: TaskAt, node: NodeAt) -> bool {
    let asks = &board.world.tasks[task.0];
    asks.near.as_ref().is_none_or(|near| meets(board, task, near, node))
        && asks.apart.as_ref().is_none_or(|apart| !meets(board, task, apart, node))
}

/// Is another task with these labels in the same domain? A first one may go anywhere, if it has
/// the labels itself and nobody else is there that has.
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
