//! The placement of tasks that start together: all of them, or none. It uses free capacity and
//! stops no other task.
//!
//! Source: KAI Scheduler, allocate and topology: the tightest sufficient level comes first; at one
//! level, the fullest domain that holds the job; running tasks pin the domain.
//!
//! Example. Racks r1 (nodes a, b) and r2 (nodes c, d), 8 GPUs a node. Job 1 runs on a. Job 2, two
//! tasks of 8 GPUs, needs one rack: r1 is fuller and does not hold it, so it starts on c and d. Job
//! 3, two tasks of 4, starts on b, in the fullest rack that holds it.

use super::amount::Amount;
use super::board::{Board, Place, Seat, State};
use super::bounds::{Excess, within_limits, within_quotas};
use super::choice::choose;
use super::gang::Gang;
use super::line::sum;
use super::world::{GroupAt, JobAt, Least, Nearness, NodeAt, TaskAt};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Sets of nodes, the most preferred first.
type Tiers = Vec<Vec<NodeAt>>;

/// Why a job was not placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    /// A limit or a quota would be exceeded.
    Bound(Excess),
    Room,
}

/// Places these tasks of a job. Without `may_start`, all places are only reserved.
pub(super) fn place(
    board: &mut Board<'_>,
    job: JobAt,
    tasks: &[TaskAt],
    may_start: bool,
) -> Result<(), Failed> {
    let known = &board.world.jobs[job.0];
    // The least it can count for: on the largest GPUs. The actual places are counted afterwards.
    let least = sum(tasks.iter().map(|task| board.at_least(*task)));
    bounded(board, job, &least).map_err(Failed::Bound)?;
    let mark = board.mark();
    let (queue, is_preemptible) = (known.queue, known.is_preemptible);
    let nodes: Tiers = vec![(0..board.world.nodes.len()).map(NodeAt).collect()];
    if !in_group(board, job, GroupAt(0), tasks, &nodes, may_start) {
        board.go_back(mark);
        return Err(Failed::Room);
    }
    let over = within(board, queue, is_preemptible);
    if let Some(excess) = over.filter(|_| least_differs(board, tasks, &least)) {
        board.go_back(mark);
        return Err(Failed::Bound(excess));
    }
    if may_start && Gang::of(board, job).waits_for_promised() {
        promise_all(board, job);
    }
    Ok(())
}

/// Whether the placed tasks count for more than was assumed before they had places.
fn least_differs(board: &Board<'_>, tasks: &[TaskAt], least: &Amount) -> bool {
    sum(tasks.iter().map(|task| super::line::held(board, *task))) != *least
}

/// The bound that a queue or an ancestor exceeds as it stands, if there is one.
fn within(board: &Board<'_>, queue: super::tree::QueueAt, is_preemptible: bool) -> Option<Excess> {
    board.tree.path(queue).iter().find_map(|at| {
        let (account, terms) = (&board.tree.accounts[at.0], &board.tree.terms[at.0]);
        let limit = account.allocated.first_above(&terms.limit).map(|of| Excess::Limit(*at, of));
        let quota = || account.firm.first_above(&terms.firm).map(|of| Excess::Quota(*at, of));
        limit.or_else(|| if is_preemptible { None } else { quota() })
    })
}

/// Whether the job, with this amount, stays within limits and, if it is not preemptible, within
/// quotas.
pub(super) fn bounded(board: &Board<'_>, job: JobAt, asks: &Amount) -> Result<(), Excess> {
    let known = &board.world.jobs[job.0];
    within_limits(&board.tree, known.queue, asks)?;
    if known.is_preemptible { Ok(()) } else { within_quotas(&board.tree, known.queue, asks) }
}

/// Turns the job's starts of this round into reservations: they take effect once all tasks have a
/// place.
fn promise_all(board: &mut Board<'_>, job: JobAt) {
    for task in board.world.jobs[job.0].tasks.clone() {
        let seat = &board.seats[task.0];
        if seat.state == State::Started {
            let seat = Seat { state: State::Promised, ..seat.clone() };
            board.set(task, seat);
        }
    }
}

fn in_group(
    board: &mut Board<'_>,
    job: JobAt,
    group: GroupAt,
    tasks: &[TaskAt],
    nodes: &Tiers,
    may_start: bool,
) -> bool {
    let near = board.world.jobs[job.0].groups[group.0].near.clone();
    let Some(near) = near else { return below(board, job, group, tasks, nodes, may_start) };
    for domain in domains(board, job, group, &near, nodes) {
        let mark = board.mark();
        if below(board, job, group, tasks, &domain, may_start) {
            return true;
        }
        board.go_back(mark);
    }
    false
}

fn below(
    board: &mut Board<'_>,
    job: JobAt,
    group: GroupAt,
    tasks: &[TaskAt],
    nodes: &Tiers,
    may_start: bool,
) -> bool {
    if matches!(board.world.jobs[job.0].groups[group.0].least, Least::Tasks(_)) {
        return tasks.iter().all(|task| one(board, *task, nodes, may_start));
    }
    let gang = Gang::of(board, job);
    let parts: Vec<(GroupAt, Vec<TaskAt>)> = gang
        .groups_of(tasks, group)
        .into_iter()
        .map(|one| (one, gang.of_group(tasks, one)))
        .collect();
    parts.into_iter().all(|(one, tasks)| in_group(board, job, one, &tasks, nodes, may_start))
}

/// Places one task. A stopped task that gets its own place back keeps running there.
fn one(board: &mut Board<'_>, task: TaskAt, nodes: &Tiers, may_start: bool) -> bool {
    let found = nodes.iter().find_map(|tier| choose(board, task, tier));
    let Some(found) = found else { return false };
    let seat = &board.seats[task.0];
    let old = seat.old.clone().filter(|_| seat.state == State::Leaving);
    let stays = |old: &Place| {
        let is_whole = old.devices.is_empty() || old.milli >= 1000;
        old.node == found.place.node && (is_whole || old.devices == found.place.devices)
    };
    let seat = match old {
        Some(old) if stays(&old) => {
            Seat { state: State::Running, place: Some(found.place), old: None }
        }
        old => {
            let starts = may_start && found.is_now && old.is_none();
            let state = if starts { State::Started } else { State::Promised };
            Seat { state, place: Some(found.place), old }
        }
    };
    board.set(task, seat);
    true
}

/// The sets of nodes to try, best first: from the preferred level (or the tightest) up to the
/// required one, the fullest first at each level; last all nodes if no level is required. In a
/// domain wider than the preferred level, the parts with most room come first.
fn domains(
    board: &Board<'_>,
    job: JobAt,
    group: GroupAt,
    near: &Nearness,
    nodes: &Tiers,
) -> Vec<Tiers> {
    let Some(levels) = board.world.topologies.get(near.topology) else { return Vec::new() };
    let nodes = nodes.concat();
    let tightest = levels.len().saturating_sub(1);
    let from = near.preferred.unwrap_or(tightest);
    let upto = near.required.unwrap_or(0);
    let gang = Gang::of(board, job);
    let active = gang.active();
    let active = gang.of_group(&active, group);
    let place = |task: &TaskAt| board.seats[task.0].place.as_ref().map(|place| place.node);
    let pins: Vec<NodeAt> = active.iter().filter_map(place).collect();
    let tiers = |level: usize, domain: Vec<NodeAt>| match near.preferred {
        Some(preferred) if level < preferred => in_parts(board, &levels[..=preferred], &domain),
        _ => vec![domain],
    };
    let mut all: Vec<Tiers> = Vec::new();
    for level in (upto..=from).rev() {
        let mut found = named(board, &levels[..=level], &nodes);
        found.retain(|domain| {
            level != upto || near.required.is_none() || pins.iter().all(|pin| domain.contains(pin))
        });
        let pinned = |domain: &Vec<NodeAt>| pins.iter().filter(|pin| domain.contains(pin)).count();
        found.sort_by_key(|domain| (Reverse(pinned(domain)), free(board, domain)));
        all.extend(found.into_iter().map(|domain| tiers(level, domain)));
    }
    if near.required.is_none() {
        let mut last = in_parts(board, &levels[..=from], &nodes);
        let rest: Vec<NodeAt> = nodes
            .iter()
            .filter(|node| !last.iter().any(|part| part.contains(node)))
            .copied()
            .collect();
        last.push(rest);
        all.push(last);
    }
    all
}

/// The parts of a domain, those with most room first.
fn in_parts(board: &Board<'_>, levels: &[String], domain: &[NodeAt]) -> Tiers {
    let mut parts = named(board, levels, domain);
    parts.reverse();
    parts.sort_by_key(|part| Reverse(free(board, part)));
    parts
}

/// The nodes grouped by their labels at these levels. Nodes that lack one are left out.
fn named(board: &Board<'_>, levels: &[String], nodes: &[NodeAt]) -> Tiers {
    let mut by_name: BTreeMap<Vec<&str>, Vec<NodeAt>> = BTreeMap::new();
    for node in nodes {
        let labels = &board.world.nodes[node.0].labels;
        let name: Option<Vec<&str>> =
            levels.iter().map(|key| labels.get(key).map(String::as_str)).collect();
        if let Some(name) = name {
            by_name.entry(name).or_default().push(*node);
        }
    }
    by_name.into_values().collect()
}

/// The GPUs and CPUs of a domain that are or become free.
fn free(board: &Board<'_>, domain: &[NodeAt]) -> (i64, i64) {
    domain.iter().fold((0, 0), |(gpus, cpus), node| {
        let devices: i64 = board.devices(*node).iter().map(super::ground::Load::later).sum();
        (gpus + devices, cpus + board.nodes[node.0].cpu.later())
    })
}
