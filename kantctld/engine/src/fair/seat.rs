//! Whether a node has room for a task, now or when others are gone, and on which devices. Never
//! compares nodes; [`super::choice`] does.
//!
//! Source: KAI Scheduler, GPU sharing: a part goes to a device that is shared already, the fullest
//! first, then to one that is free; all its devices are of one node. Whole devices, parts and
//! slices keep to nodes that are cut for them.

use super::amount::Amount;
use super::board::{Board, Load, Place};
use super::counted::{in_hundreds, part_of};
use super::world::{Cut, GpuAsk, Node, NodeAt, Task, TaskAt};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const WHOLE: i64 = 1000;

/// A place, and whether it is free now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub place: Place,
    pub is_now: bool,
    /// It joins others on a device.
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

/// Where a task that runs already sits: on its named devices, or on the first that are free.
pub(super) fn found(
    board: &Board<'_>,
    task: &Task,
    node: NodeAt,
    shared: &mut BTreeMap<(NodeAt, String), usize>,
) -> Place {
    let devices = &board.nodes[node.0].devices;
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

/// Thousandths of each device, and of how many, on this node; `None`: it cannot be had there.
fn part(board: &Board<'_>, task: &Task, node: NodeAt) -> Option<(i64, usize)> {
    match &task.gpus {
        GpuAsk::None | GpuAsk::Slices(_) => Some((0, 0)),
        GpuAsk::Whole(gpus) => Some((if *gpus > 0 { WHOLE } else { 0 }, *gpus as usize)),
        GpuAsk::Part { milli, devices } => Some((*milli, *devices as usize)),
        GpuAsk::Memory { mib, devices } => {
            let of = board.world.nodes[node.0].gpu_memory_mib?;
            Some((part_of(*mib, in_hundreds(of)), *devices as usize))
        }
    }
}

/// May the task go to this node at all?
fn is_for(node: &Node, task: &Task) -> bool {
    match (&task.gpus, node.cut) {
        (GpuAsk::None | GpuAsk::Whole(0), _) | (_, Cut::Whole) => {
            !matches!(task.gpus, GpuAsk::Slices(_)) || node.cut != Cut::Whole
        }
        (GpuAsk::Whole(_), Cut::Single) | (GpuAsk::Slices(_), Cut::Mixed) => true,
        _ => false,
    }
}

/// Has the node room for the task? `None`: not even when all are gone that go.
pub(super) fn look(board: &Board<'_>, at: TaskAt, node: NodeAt) -> Option<Found> {
    let task = &board.world.tasks[at.0];
    if board.world.nodes[node.0].is_closed
        || !is_for(&board.world.nodes[node.0], task)
        || task.only_nodes.as_ref().is_some_and(|only| only.binary_search(&node).is_err())
        || task.not_nodes.as_ref().is_some_and(|not| not.binary_search(&node).is_ok())
    {
        return None;
    }
    let load = &board.nodes[node.0];
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
    let (milli, count) = part(board, task, node)?;
    if load.devices.iter().filter(|device| device.later() >= milli).count() < count {
        return None;
    }
    let (devices, all_now, joins) = devices(&load.devices, milli, count)?;
    let place = Place { node, devices, milli };
    Some(Found { place, is_now: is_now && all_now, joins })
}

/// The devices that a task would get: now if it can be.
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
