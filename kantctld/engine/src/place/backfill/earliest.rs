//! The earliest time at which a job will have room, from the time limits of running jobs and from
//! what is kept for others. A job without a time limit never ends.
//!
//! Source: man slurm.conf, SchedulerType=sched/backfill: the time limit, not past behaviour,
//! determines when a job ends.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::cluster::switches::SwitchIndex;
use crate::model::cluster::tally::{Takes, Tally};
use crate::model::demand::Part;
use crate::place::backfill::filled::earliest_on_fewest_nodes;
use crate::place::backfill::segments::Segments;
use crate::place::backfill::sweep::Sweep;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::openings::Occupancy;
use crate::place::node_search::openings::{gone_at, group_has_room};
use common::time::{Span, Time};
use common::unit::Nodes;
use std::collections::{BTreeMap, BinaryHeap};

/// When and where a job will have room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earliest {
    pub at: Time,
    /// The nodes that have room from then on, in order. There are at least enough.
    pub nodes: Vec<NodeIndex>,
}

/// The times at which a start counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// No earlier.
    pub after: Time,
    /// No later; `None`: however late.
    pub by: Option<Time>,
}

/// Parts of one size, and how many nodes must hold that part or a larger one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub part: Part,
    pub need: u32,
}

/// The different parts of a job on this many nodes, largest first.
pub(crate) fn part_sizes(search: &NodeSearch<'_>, nodes: Nodes) -> Vec<Size> {
    let parts = search.shape.demand.even_parts(nodes);
    let mut need = 0;
    let mut sizes = Vec::new();
    for same in parts.chunk_by(|a, b| a == b) {
        need += u32::try_from(same.len()).unwrap_or(u32::MAX);
        sizes.push(Size { part: same[0], need });
    }
    sizes
}

/// The earliest time in the window at which a job that runs for at most `length` has room. `None`:
/// there is none.
pub(crate) fn earliest(
    search: &NodeSearch<'_>,
    length: Option<Span>,
    window: Window,
) -> Option<Earliest> {
    let length = length.unwrap_or(Span(u64::MAX));
    match search.shape.node_count() {
        Some(nodes) => earliest_on_nodes(search, nodes, length, window),
        None => earliest_on_fewest_nodes(search, length, window.after),
    }
}

fn earliest_on_nodes(
    search: &NodeSearch<'_>,
    nodes: Nodes,
    length: Span,
    window: Window,
) -> Option<Earliest> {
    let Window { after, by } = window;
    let sizes = part_sizes(search, nodes);
    if let (Some(segments), Some(largest)) =
        (Segments::required(search, nodes.0 as usize), sizes.first())
    {
        return segments.earliest_time(search, largest.part, length, window);
    }
    if let ([size], None, true) =
        (&sizes[..], search.shape.demand.request.near, search.is_unreserved())
    {
        return earliest_without_bookings(search, *size, window);
    }
    let smallest = sizes.last().map(|size| search.takes_least(size.part));
    let near = search.shape.demand.request.near.filter(|near| near.required && nodes.0 > 1);
    if let ([size], None, None) = (&sizes[..], near, search.reservation) {
        return earliest_beside_bookings(search, *size, length, window);
    }
    let mut by_switch: BTreeMap<Option<SwitchIndex>, Sweep> = BTreeMap::new();
    for (at, _) in search.cluster().nodes().filter(|(at, _)| search.allows(*at)) {
        let switch = near.map(|near| search.cluster().switches().switch_of_node(near.level, at));
        if switch == Some(None) || is_busy_beyond(search, at, smallest, by) {
            continue;
        }
        let sweep = by_switch.entry(switch.flatten()).or_default();
        for (number, size) in sizes.iter().enumerate() {
            add_ready_intervals(search, at, size.part, length, by, |from, to| {
                if to >= after {
                    sweep.add(number, at, from.max(after), to);
                }
            });
        }
    }
    let found = by_switch.into_values().filter_map(|sweep| sweep.find(&sizes));
    found.min_by_key(|earliest| earliest.at)
}

/// The earliest time on equivalent nodes, some of which are booked. Nodes without bookings give an
/// upper bound, and booked nodes are searched up to that time.
fn earliest_beside_bookings(
    search: &NodeSearch<'_>,
    size: Size,
    length: Span,
    window: Window,
) -> Option<Earliest> {
    let open = |at: NodeIndex| search.bookings.on(at).is_empty();
    let (ready_at, bound) = first_ready(search, size, window, open);
    let by = bound.into_iter().chain(window.by).min();
    let mut sweep = Sweep::default();
    let in_time = |(from, _): &(Time, NodeIndex)| bound.is_none_or(|bound| *from <= bound);
    for (from, at) in ready_at.into_iter().filter(in_time) {
        sweep.add(0, at, from, NEVER);
    }
    let least = Some(search.takes_least(size.part));
    for at in search.bookings.booked_nodes().filter(|at| search.allows(*at)) {
        if is_busy_beyond(search, at, least, by) {
            continue;
        }
        add_ready_intervals(search, at, size.part, length, by, |from, to| {
            if to >= window.after {
                sweep.add(0, at, from.max(window.after), to);
            }
        });
    }
    sweep.find(&[size])
}

/// The earliest time on equivalent nodes without bookings. What is free on each only grows, so the
/// time is that of the last of the first N nodes.
fn earliest_without_bookings(
    search: &NodeSearch<'_>,
    size: Size,
    window: Window,
) -> Option<Earliest> {
    let (ready_at, at) = first_ready(search, size, window, |_| true);
    let at = at?;
    let ready = ready_at.into_iter().filter(|(time, _)| *time <= at);
    let mut nodes: Vec<NodeIndex> = ready.map(|(_, node)| node).collect();
    nodes.sort_unstable();
    Some(Earliest { at, nodes })
}

/// When nodes without bookings are ready, and by when there are enough of them. `None`: never. A
/// node whose jobs all end later than that is skipped.
fn first_ready(
    search: &NodeSearch<'_>,
    size: Size,
    window: Window,
    counts: impl Fn(NodeIndex) -> bool,
) -> (Vec<(Time, NodeIndex)>, Option<Time>) {
    let need = size.need as usize;
    let mut soonest: BinaryHeap<Time> = BinaryHeap::with_capacity(need + 1);
    let mut ready_at: Vec<(Time, NodeIndex)> = Vec::new();
    let least = search.takes_least(size.part);
    let by = |soonest: &BinaryHeap<Time>| {
        if soonest.len() < need { window.by } else { soonest.peek().copied() }
    };
    let mut look = |at: NodeIndex, soonest: &mut BinaryHeap<Time>| {
        if !counts(at) || !search.allows(at) {
            return;
        }
        search.trial.asked.set(search.trial.asked.get() + 1);
        add_ready_intervals(search, at, size.part, Span(0), by(soonest), |from, _| {
            let from = from.max(window.after);
            ready_at.push((from, at));
            soonest.push(from);
            if soonest.len() > need {
                soonest.pop();
            }
        });
    };
    let has_room = |at: NodeIndex| search.trial.free(at).holds(search.usage_on_node(at, size.part));
    let mut is_seen = vec![false; search.cluster().len()];
    for group in search.open_groups(least) {
        for at in search.nodes_of(group).iter().copied().filter(|at| has_room(*at)) {
            is_seen[at.at()] = true;
            look(at, &mut soonest);
        }
    }
    // On the other nodes nothing is ready before a job ends, so visit them in the order of their
    // first ends.
    for (ends, at) in search.trial.nodes_by_first_end() {
        if ends == NEVER || by(&soonest).is_some_and(|by| ends > by) {
            break;
        }
        let group = search.cluster().node(at).group;
        if !is_seen[at.at()] && !search.is_of_other_kind(group, least) {
            look(at, &mut soonest);
        }
    }
    let enough = soonest.peek().copied().filter(|_| soonest.len() == need);
    (ready_at, enough)
}

/// Whether the node is in a full group, and none of its jobs ends by then.
fn is_busy_beyond(
    search: &NodeSearch<'_>,
    at: NodeIndex,
    least: Option<Takes>,
    by: Option<Time>,
) -> bool {
    let (Some(least), Some(by)) = (least, by) else { return false };
    let first = search.trial.holders(at).first().map_or(NEVER, |first| first.until);
    first > by && search.rules_out(search.cluster().node(at).group, least)
}

/// The start times at which a node has room for a part for `length`, as intervals with both ends
/// included. With `by`, only intervals that begin by then.
pub(super) fn add_ready_intervals(
    search: &NodeSearch<'_>,
    at: NodeIndex,
    part: Part,
    length: Span,
    by: Option<Time>,
    mut add: impl FnMut(Time, Time),
) {
    let request = search.shape.demand.request;
    if request.tasks_per_node.is_some_and(|most| part.tasks > most) {
        return;
    }
    let is_late = |time: Time| by.is_some_and(|by| time > by);
    if is_late(search.now) {
        return;
    }
    let takes = search.usage_on_node(at, part);
    let holders = search.trial.holders(at);
    if search.bookings.on(at).is_empty() && search.reservation.is_none() {
        // What is free only grows. Most nodes are full, and most of those until after `by`.
        let has_room = || search.trial.free(at).holds(takes);
        if holders.first().is_none_or(|first| is_late(first.until)) && !has_room() {
            return;
        }
        let mut tally = Tally::of(search.trial.free(at));
        let mut time = search.now;
        let mut next = 0;
        loop {
            if tally.holds(takes) && group_has_room(search, &holders[next..]) {
                add(time, NEVER);
                return;
            }
            let Some(holder) = holders.get(next).filter(|holder| holder.until < NEVER) else {
                return;
            };
            time = gone_at(holder, search.now);
            if is_late(time) {
                return;
            }
            while let Some(holder) = holders.get(next).filter(|h| gone_at(h, search.now) <= time) {
                tally.give_back(holder);
                next += 1;
            }
        }
    }
    let by = by.unwrap_or(NEVER);
    search.bookings.start_intervals(search, at, Occupancy { takes, length }, by, |from, to| {
        add(from, to);
        true
    });
}
