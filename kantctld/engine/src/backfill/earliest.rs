//! The earliest time at which a job will have room, by the time limits of the jobs that hold it up
//! and what is kept for others. Never counts on a job without a time limit to end.
//!
//! Source: man slurm.conf, SchedulerType=sched/backfill: time limits, not past behaviour, say when
//! a job ends.

use crate::backfill::blocks::Blocks;
use crate::backfill::sweep::Sweep;
use crate::fit::demand::Part;
use crate::fit::hall::Hall;
use crate::floor::NodeIndex;
use crate::floor::node::{Holder, NEVER};
use crate::floor::switches::SwitchIndex;
use crate::floor::tally::{Takes, Tally};
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

/// When and where a job will have room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earliest {
    pub at: Time,
    /// The nodes that have room then and go on to have it, in their order: at least enough.
    pub nodes: Vec<NodeIndex>,
}

/// Parts of one size, and how many nodes must hold that or more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub part: Part,
    pub need: u32,
}

/// The different parts of a job on so many nodes, largest first.
pub(crate) fn sizes(hall: &Hall<'_>, nodes: Nodes) -> Vec<Size> {
    let parts = hall.shape.demand.even_parts(nodes);
    let mut need = 0;
    let mut sizes = Vec::new();
    for same in parts.chunk_by(|a, b| a == b) {
        need += u32::try_from(same.len()).unwrap_or(u32::MAX);
        sizes.push(Size { part: same[0], need });
    }
    sizes
}

/// The earliest time, not before `after`, for a job that runs for `length` at most; `None`: never,
/// as things are, or with `by` not by then.
pub(crate) fn earliest(
    hall: &Hall<'_>,
    length: Option<Span>,
    (after, by): (Time, Option<Time>),
) -> Option<Earliest> {
    let length = length.unwrap_or(Span(u64::MAX));
    match hall.shape.nodes() {
        Some(nodes) => on_nodes(hall, nodes, length, (after, by)),
        None => filled(hall, length, after),
    }
}

fn on_nodes(
    hall: &Hall<'_>,
    nodes: Nodes,
    length: Span,
    (after, by): (Time, Option<Time>),
) -> Option<Earliest> {
    let sizes = sizes(hall, nodes);
    if let (Some(blocks), Some(largest)) = (Blocks::of(hall, nodes.0 as usize), sizes.first()) {
        return blocks.first(hall, largest.part, length, (after, by));
    }
    if let ([size], None, true) = (&sizes[..], hall.shape.demand.request.near, hall.is_open()) {
        return first_to_end(hall, *size, (after, by));
    }
    let smallest = sizes.last().map(|size| hall.takes_least(size.part));
    let near = hall.shape.demand.request.near.filter(|near| near.required && nodes.0 > 1);
    let mut by_switch: BTreeMap<Option<SwitchIndex>, Sweep> = BTreeMap::new();
    for (at, _) in hall.floor().nodes().filter(|(at, _)| hall.allows(*at)) {
        let switch = near.map(|near| hall.floor().switches().of(near.level, at));
        if switch == Some(None) || is_late(hall, at, smallest, by) {
            continue;
        }
        let sweep = by_switch.entry(switch.flatten()).or_default();
        for (number, size) in sizes.iter().enumerate() {
            ready(hall, at, size.part, length, by, |from, to| {
                if to >= after {
                    sweep.add(number, at, from.max(after), to);
                }
            });
        }
    }
    let found = by_switch.into_values().filter_map(|sweep| sweep.find(&sizes));
    found.min_by_key(|earliest| earliest.at)
}

/// The same for nodes that are as good as each other and not booked: what is free on each only
/// grows, so the time is that of the last of the first so many nodes, and a node whose jobs all end
/// later than those need not be looked at.
fn first_to_end(
    hall: &Hall<'_>,
    size: Size,
    (after, latest): (Time, Option<Time>),
) -> Option<Earliest> {
    let need = size.need as usize;
    let mut soonest: BinaryHeap<Time> = BinaryHeap::with_capacity(need + 1);
    let mut ready_at: Vec<(Time, NodeIndex)> = Vec::new();
    let least = hall.takes_least(size.part);
    for group in hall.groups() {
        let is_full = hall.rules_out(group, least);
        for at in hall.nodes_of(group).iter().copied() {
            let by = if soonest.len() < need { latest } else { soonest.peek().copied() };
            let ends = hall.trial.holders(at).first().map_or(NEVER, |first| first.until);
            if (is_full && by.is_some_and(|by| ends > by)) || !hall.allows(at) {
                continue;
            }
            ready(hall, at, size.part, Span(0), by, |from, _| {
                let from = from.max(after);
                ready_at.push((from, at));
                soonest.push(from);
                if soonest.len() > need {
                    soonest.pop();
                }
            });
        }
    }
    let at = soonest.peek().copied().filter(|_| soonest.len() == need)?;
    let ready = ready_at.into_iter().filter(|(time, _)| *time <= at);
    let mut nodes: Vec<NodeIndex> = ready.map(|(_, node)| node).collect();
    nodes.sort_unstable();
    Some(Earliest { at, nodes })
}

/// Is the node in a full group, and will none of its jobs end by then?
fn is_late(hall: &Hall<'_>, at: NodeIndex, least: Option<Takes>, by: Option<Time>) -> bool {
    let (Some(least), Some(by)) = (least, by) else { return false };
    let first = hall.trial.holders(at).first().map_or(NEVER, |first| first.until);
    first > by && hall.rules_out(hall.floor().node(at).group, least)
}

/// When a job will be gone. One that should be over by now is soon, but is there still.
pub(super) fn gone_at(holder: &Holder, now: Time) -> Time {
    holder.until.max(now + Span(1))
}

/// The start times at which a node has room for a part for so long, as intervals, both ends
/// included. With `by`, only such as begin by then.
pub(super) fn ready(
    hall: &Hall<'_>,
    at: NodeIndex,
    part: Part,
    length: Span,
    by: Option<Time>,
    mut add: impl FnMut(Time, Time),
) {
    let request = hall.shape.demand.request;
    if request.tasks_per_node.is_some_and(|most| part.tasks > most) {
        return;
    }
    let is_late = |time: Time| by.is_some_and(|by| time > by);
    if is_late(hall.now) {
        return;
    }
    let takes = hall.takes(at, part);
    let class = &hall.floor().node(at).class;
    let holders = hall.trial.holders(at);
    if hall.bookings.on(at).is_empty() && hall.reservation.is_none() {
        // What is free only grows. Most nodes are full, and most of those for too long.
        let has_room = || hall.trial.free(at).holds(class, request, takes);
        if holders.first().is_none_or(|first| is_late(first.until)) && !has_room() {
            return;
        }
        let mut tally = Tally::of(hall.trial.free(at));
        let mut time = hall.now;
        let mut next = 0;
        loop {
            if tally.holds(class, request, takes) && group_has_room(hall, &holders[next..]) {
                add(time, NEVER);
                return;
            }
            let Some(holder) = holders.get(next).filter(|holder| holder.until < NEVER) else {
                return;
            };
            time = gone_at(holder, hall.now);
            if is_late(time) {
                return;
            }
            while let Some(holder) = holders.get(next).filter(|h| gone_at(h, hall.now) <= time) {
                tally.give_back(class, &holder.share);
                next += 1;
            }
        }
    }
    let by = by.unwrap_or(NEVER);
    hall.bookings.starts(hall, at, (takes, length), by, |from, to| {
        add(from, to);
        true
    });
}

/// Does the bound on jobs of its group on one node leave room for another one at that time?
pub(super) fn group_allows(hall: &Hall<'_>, at: NodeIndex, time: Time) -> bool {
    hall.shape.demand.request.per_node_max.is_none() || {
        let holders = hall.trial.holders(at);
        let over = |holder: &Arc<Holder>| time > hall.now && holder.until <= time;
        group_has_room(hall, &holders[holders.partition_point(over)..])
    }
}

/// The same of those that are left.
fn group_has_room(hall: &Hall<'_>, left: &[Arc<Holder>]) -> bool {
    hall.shape.demand.request.per_node_max.as_ref().is_none_or(|most| {
        let same = left.iter().filter(|holder| holder.group.as_deref() == Some(&most.group));
        (same.count() as u64) < u64::from(most.jobs)
    })
}

/// For a job that takes as few nodes as hold its tasks: the earliest end after which they do, under
/// one switch where it insists.
fn filled(hall: &Hall<'_>, length: Span, after: Time) -> Option<Earliest> {
    let near = hall.shape.demand.request.near.filter(|near| near.required);
    let mut by_switch: BTreeMap<(Option<SwitchIndex>, Option<NodeIndex>), Vec<NodeIndex>> =
        BTreeMap::new();
    for (at, _) in hall.floor().nodes().filter(|(at, _)| hall.allows(*at)) {
        let switch = near.map(|near| hall.floor().switches().of(near.level, at));
        // A node of no known switch is near to itself.
        let alone = (switch == Some(None)).then_some(at);
        by_switch.entry((switch.flatten(), alone)).or_default().push(at);
    }
    let found = by_switch.into_values().filter_map(|nodes| filled_from(hall, nodes, length, after));
    found.min_by_key(|earliest| earliest.at)
}

fn filled_from(
    hall: &Hall<'_>,
    allowed: Vec<NodeIndex>,
    length: Span,
    after: Time,
) -> Option<Earliest> {
    let all = hall.shape.demand.tasks;
    let at = if hall.is_open() {
        let holders = |at: &NodeIndex| hall.trial.holders(*at).iter();
        let ends = allowed.iter().flat_map(holders).map(|holder| gone_at(holder, hall.now));
        let mut times: Vec<Time> = ends.filter(|time| *time > after && *time < NEVER).collect();
        times.push(after);
        times.sort_unstable();
        times.dedup();
        let enough = |time: Time| -> bool {
            let mut left = all;
            allowed.iter().any(|at| {
                left -= room_from(hall, *at, time, length);
                left == Tasks::ZERO
            })
        };
        // The more has ended, the more is free: search for the first time that is enough.
        let first = times.partition_point(|time| !enough(*time));
        *times.get(first)?
    } else {
        // Each node is asked at its own times only, and what they have is added up over time.
        let mut changes: Vec<(Time, NodeIndex, Tasks)> = Vec::new();
        for at in allowed.iter().copied() {
            let mut known = Tasks::ZERO;
            for time in changes_at(hall, at, length, after) {
                let room = room_from(hall, at, time, length);
                if room != known {
                    changes.push((time, at, room));
                    known = room;
                }
            }
        }
        changes.sort_unstable();
        let mut rooms: BTreeMap<NodeIndex, Tasks> = BTreeMap::new();
        let mut sum = 0;
        let same_time = changes.chunk_by(|a, b| a.0 == b.0);
        let enough = same_time.into_iter().find(|same| {
            for (_, at, room) in same.iter() {
                let before = rooms.insert(*at, *room).unwrap_or_default();
                sum = sum + u64::from(room.0) - u64::from(before.0);
            }
            sum >= u64::from(all.0)
        });
        enough?.first()?.0
    };
    let has_room = |node: &NodeIndex| room_from(hall, *node, at, length) > Tasks::ZERO;
    let nodes = allowed.into_iter().filter(has_room).collect();
    Some(Earliest { at, nodes })
}

/// The most tasks that a node holds from then on, for so long.
fn room_from(hall: &Hall<'_>, at: NodeIndex, time: Time, length: Span) -> Tasks {
    let demand = &hall.shape.demand;
    crate::fit::room::most_tasks(demand.tasks, |tasks| {
        let takes = hall.takes(at, demand.part(tasks));
        demand.request.tasks_per_node.is_none_or(|most| tasks <= most)
            && group_allows(hall, at, time)
            && (tasks.0 == 0 || hall.bookings.is_free_from(hall, at, takes, time, time + length))
    })
}

/// The times, from `after` on, at which it may change how much a node holds for so long: a job
/// ends, or anything booked begins, is over, or comes too near.
fn changes_at(hall: &Hall<'_>, at: NodeIndex, length: Span, after: Time) -> BTreeSet<Time> {
    let ends = hall.trial.holders(at).iter().map(|holder| gone_at(holder, hall.now));
    let edges = hall.bookings.on(at).iter().flat_map(|booked| {
        [booked.from, booked.to, Time(booked.from.0.saturating_sub(length.0)) + Span(1)]
    });
    let later = ends.chain(edges).filter(|time| *time > after && *time < NEVER);
    later.chain([after]).collect()
}
