//! The fit of a task on one node: whether it has room now or once others are gone, and on which
//! devices. Nodes are compared in [`super::choice`].
//!
//! Source: KAI Scheduler, GPU sharing: a part goes to a device that is shared already, the fullest
//! first, then to one that is free; all its devices are on one node. Whole devices, parts and
//! slices go only to nodes that are cut for them.

use super::amount::Amount;
use super::board::{Board, Place};
use super::counted::part_on;
use super::ground::Load;
use super::world::{Cut, GpuAsk, Node, NodeAt, Task, TaskAt};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const WHOLE: i64 = 1000;

/// A place, and whether it is free now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub place: Place,
    pub is_now: bool,
    /// Whether it shares a device with other tasks.
    pub joins: bool,
}

/// What a node counts for in fair shares.
pub(super) fn capacity(node: &Node) -> Amount {
    let slices: i64 = node.slices.iter().map(|(name, count)| slice_gpus(name) * count).sum();
    let gpus =
        if node.cut == Cut::Mixed && slices > 0 { slices } else { i64::from(node.gpus) * WHOLE };
    Amount { cpu_milli: node.cpu_milli, memory_bytes: node.memory_bytes, gpu_milli: gpus }
}

/// A slice of a profile `Ng.*` counts as N GPUs, in thousandths.
pub(super) fn slice_gpus(profile: &str) -> i64 {
    let name = profile.rsplit("mig-").next().unwrap_or(profile);
    let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<i64>().unwrap_or(1) * WHOLE
}

/// The place of a task that already runs: on its named devices, or on the first that are free.
pub(super) fn found(
    board: &Board<'_>,
    task: &Task,
    node: NodeAt,
    shared: &mut BTreeMap<(NodeAt, String), usize>,
) -> Place {
    let devices = board.devices(node);
    let (milli, count) = part(board, task, node).unwrap_or((0, 0));
    if let Some(known) = &task.devices {
        return Place { node, devices: known.clone(), milli };
    }
    let is_taken = |at: usize, shared: &BTreeMap<(NodeAt, String), usize>| {
        devices[at].held > 0 || shared.iter().any(|((of, _), device)| *of == node && *device == at)
    };
    let mut places = Vec::new();
    for which in 0..count {
        let name = task.device_names.get(which).map(|name| (node, name.clone()));
        if let Some(known) = name.as_ref().and_then(|name| shared.get(name)) {
            places.push(*known);
            continue;
        }
        let free = (0..devices.len()).find(|at| !places.contains(at) && !is_taken(*at, shared));
        let Some(free) = free else { continue };
        if let Some(name) = name {
            shared.insert(name, free);
        }
        places.push(free);
    }
    Place { node, devices: places, milli }
}

/// The thousandths of each device and the number of devices on this node. `None`: the node cannot
/// provide them.
fn part(board: &Board<'_>, task: &Task, node: NodeAt) -> Option<(i64, usize)> {
    part_on(task, board.world.nodes[node.0].gpu_memory_mib)
}

/// Whether the task may go to this node at all.
fn is_for(node: &Node, task: &Task) -> bool {
    match (&task.gpus, node.cut) {
        (GpuAsk::None | GpuAsk::Whole(0), _) | (_, Cut::Whole) => {
            !matches!(task.gpus, GpuAsk::Slices(_)) || node.cut != Cut::Whole
        }
        (GpuAsk::Whole(_), Cut::Single) | (GpuAsk::Slices(_), Cut::Mixed) => true,
        _ => false,
    }
}

/// The place for the task on the node. `None`: there is none even once everything that leaves is
/// gone.
pub(super) fn look(board: &Board<'_>, at: TaskAt, node: NodeAt) -> Option<Found> {
    let (is_now, (milli, count)) = beside_devices(board, at, node)?;
    let (devices, all_now, joins) = devices(board.devices(node), milli, count)?;
    let place = Place { node, devices, milli };
    Some(Found { place, is_now: is_now && all_now, joins })
}

/// Like [`look`], without choosing devices: whether there is room now, and whether the task would
/// share a device.
pub(super) fn glance(board: &Board<'_>, at: TaskAt, node: NodeAt) -> Option<(bool, bool)> {
    let (is_now, (milli, count)) = beside_devices(board, at, node)?;
    let mut fits = [[0, 0], [0, 0]];
    for load in board.devices(node).iter().filter(|device| device.later() >= milli) {
        let (is_now, is_shared) = (load.now() >= milli, load.later() < WHOLE);
        fits[usize::from(is_now)][usize::from(is_shared)] += 1;
    }
    let [later, now] = fits.map(|[free, shared]| free + shared);
    if count == 0 {
        return Some((is_now, false));
    }
    let all_now = now >= count;
    // Devices that are free now come first; among equals, those that are shared.
    let is_joined = fits[1][1] > 0 || !all_now && fits[0][1] > 0;
    (now + later >= count).then_some((is_now && all_now, milli < WHOLE && is_joined))
}

/// Checks everything except devices. Returns whether there is room now, the thousandths of each
/// device and the number of devices.
fn beside_devices(board: &Board<'_>, at: TaskAt, node: NodeAt) -> Option<(bool, (i64, usize))> {
    let task = &board.world.tasks[at.0];
    let load = &board.nodes[node.0];
    // Most nodes are full and are rejected early.
    let asks = match &task.gpus {
        GpuAsk::Whole(gpus) => i64::from(*gpus) * WHOLE,
        GpuAsk::Part { milli, devices } => milli.saturating_mul(i64::from(*devices)),
        GpuAsk::None | GpuAsk::Memory { .. } | GpuAsk::Slices(_) => 0,
    };
    if load.spare.gpu_milli < asks
        || load.spare.cpu_milli < task.cpu_milli
        || load.spare.memory_bytes < task.memory_bytes
    {
        return None;
    }
    if board.world.nodes[node.0].is_closed
        || !is_for(&board.world.nodes[node.0], task)
        || task.only_nodes.as_ref().is_some_and(|only| only.binary_search(&node).is_err())
        || task.not_nodes.as_ref().is_some_and(|not| not.binary_search(&node).is_ok())
    {
        return None;
    }
    let mut is_now = true;
    let mut needs = |of: &Load, amount: i64| {
        is_now &= amount == 0 || of.now() >= amount;
        amount == 0 || of.later() >= amount
    };
    if !needs(&load.cpu, task.cpu_milli)
        || !needs(&load.memory, task.memory_bytes)
        || !needs(&load.tasks, task.slots.max(1))
    {
        return None;
    }
    if let GpuAsk::Slices(slices) = &task.gpus {
        let none = Load::default();
        let of = |profile: &String| load.slices.get(profile).unwrap_or(&none);
        if !slices.iter().all(|(profile, count)| needs(of(profile), *count)) {
            return None;
        }
    }
    Some((is_now, part(board, task, node)?))
}

/// The devices that the task would get, preferring those that are free now.
fn devices(loads: &[Load], milli: i64, count: usize) -> Option<(Vec<usize>, bool, bool)> {
    if count == 0 {
        return Some((Vec::new(), true, false));
    }
    let rank = |at: usize| {
        let load = &loads[at];
        let (is_now, is_shared) = (load.now() >= milli, load.later() < WHOLE);
        (!is_now, Reverse(is_shared), load.later(), at)
    };
    let mut fits: Vec<usize> = (0..loads.len()).filter(|at| loads[*at].later() >= milli).collect();
    fits.sort_by_key(|at| rank(*at));
    if fits.len() < count {
        return None;
    }
    fits.truncate(count);
    let all_now = fits.iter().all(|at| loads[*at].now() >= milli);
    let joins = milli < WHOLE && fits.iter().any(|at| loads[*at].later() < WHOLE);
    Some((fits, all_now, joins))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::plan::tests::{push, queue};
    use crate::fair::tree::Tree;
    use crate::fair::world::{TaskState, World};

    /// Every combination of three devices, each of which is free, held or being left, half or
    /// whole.
    fn worlds() -> impl Iterator<Item = World> {
        (0..125).map(|of| {
            let node = Node { gpus: 3, cpu_milli: 9000, tasks_max: 9, ..Node::default() };
            let queues = Tree::new(vec![queue("a")]);
            let mut world = World { nodes: vec![node], queues, ..World::default() };
            for (at, state) in [of % 5, of / 5 % 5, of / 25].into_iter().enumerate() {
                let milli = if state % 2 == 1 { 500 } else { 1000 };
                let is_there = if state > 2 { TaskState::Leaving } else { TaskState::Running };
                let task = Task {
                    gpus: GpuAsk::Part { milli, devices: 1 },
                    state: is_there,
                    node: Some(NodeAt(0)),
                    devices: Some(vec![at]),
                    ..Task::default()
                };
                let tasks = if state == 0 { Vec::new() } else { vec![task] };
                push(&mut world, 0, tasks, true);
            }
            world
        })
    }

    #[test]
    fn a_glance_tells_as_much_as_a_look() {
        let part = |milli, devices| GpuAsk::Part { milli, devices };
        let asks = [GpuAsk::None, GpuAsk::Whole(1), GpuAsk::Whole(2), GpuAsk::Whole(3)];
        let parts = [part(300, 1), part(500, 1), part(500, 2), part(500, 3), part(700, 2)];
        let (mut found, mut none) = (0, 0);
        for mut world in worlds() {
            for gpus in asks.iter().chain(&parts) {
                let at = TaskAt(world.tasks.len());
                push(&mut world, 0, vec![Task { gpus: gpus.clone(), ..Task::default() }], true);
                let board = Board::new(&world);
                let look = look(&board, at, NodeAt(0));
                let told = look.map(|found| (found.is_now, found.joins));
                assert_eq!(glance(&board, at, NodeAt(0)), told, "{world:?}");
                found += u32::from(told.is_some());
                none += u32::from(told.is_none());
            }
        }
        assert!(found > 100 && none > 100);
    }
}
