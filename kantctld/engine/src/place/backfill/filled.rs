//! The earliest start of a job that takes as few nodes as hold its tasks. Each node is asked at its
//! own times only, and the room of all nodes is added up over time.
//!
//! Source: the sweep line of computational geometry, over time.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::cluster::switches::SwitchIndex;
use crate::place::backfill::earliest::Earliest;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::openings::{gone_at, group_allows};
use common::time::{Span, Time};
use common::unit::Tasks;
use std::collections::{BTreeMap, BTreeSet};

/// For a job that takes as few nodes as hold its tasks: the earliest time at which nodes hold them,
/// under one switch if the job requires that.
pub(super) fn earliest_on_fewest_nodes(
    search: &NodeSearch<'_>,
    length: Span,
    after: Time,
) -> Option<Earliest> {
    let near = search.shape.demand.request.near.filter(|near| near.required);
    let mut by_switch: BTreeMap<(Option<SwitchIndex>, Option<NodeIndex>), Vec<NodeIndex>> =
        BTreeMap::new();
    for (at, _) in search.cluster().nodes().filter(|(at, _)| search.allows(*at)) {
        let switch = near.map(|near| search.cluster().switches().switch_of_node(near.level, at));
        // A node without a known switch is near to itself only.
        let alone = (switch == Some(None)).then_some(at);
        by_switch.entry((switch.flatten(), alone)).or_default().push(at);
    }
    let found = by_switch
        .into_values()
        .filter_map(|nodes| earliest_among_allowed(search, nodes, length, after));
    found.min_by_key(|earliest| earliest.at)
}

fn earliest_among_allowed(
    search: &NodeSearch<'_>,
    allowed: Vec<NodeIndex>,
    length: Span,
    after: Time,
) -> Option<Earliest> {
    let all = search.shape.demand.tasks;
    let at = if search.is_unreserved() {
        let holders = |at: &NodeIndex| search.trial.holders(*at).iter();
        let ends = allowed.iter().flat_map(holders).map(|holder| gone_at(holder, search.now));
        let mut times: Vec<Time> = ends.filter(|time| *time > after && *time < NEVER).collect();
        times.push(after);
        times.sort_unstable();
        times.dedup();
        let enough = |time: Time| -> bool {
            let mut left = all;
            allowed.iter().any(|at| {
                left -= room_from(search, *at, time, length);
                left == Tasks::ZERO
            })
        };
        // The more jobs have ended, the more is free: binary search for the first time that is
        // enough.
        let first = times.partition_point(|time| !enough(*time));
        *times.get(first)?
    } else {
        // Ask each node at its own times only, and add up the room of all nodes over time.
        let mut changes: Vec<(Time, NodeIndex, Tasks)> = Vec::new();
        for at in allowed.iter().copied() {
            let mut known = Tasks::ZERO;
            for time in changes_at(search, at, length, after) {
                let room = room_from(search, at, time, length);
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
    let has_room = |node: &NodeIndex| room_from(search, *node, at, length) > Tasks::ZERO;
    let nodes = allowed.into_iter().filter(has_room).collect();
    Some(Earliest { at, nodes })
}

/// The most tasks that a node holds from `time` on, for `length`.
fn room_from(search: &NodeSearch<'_>, at: NodeIndex, time: Time, length: Span) -> Tasks {
    let demand = &search.shape.demand;
    crate::model::demand::most_tasks(demand.tasks, |tasks| {
        let takes = search.usage_on_node(at, demand.part(tasks));
        demand.request.tasks_per_node.is_none_or(|most| tasks <= most)
            && group_allows(search, at, time)
            && (tasks.0 == 0
                || search.bookings.is_free_from(search, at, takes, time, time + length))
    })
}

/// The times, from `after` on, at which the room of a node for `length` may change: a job ends, or
/// a booking begins, ends, or comes too near.
fn changes_at(search: &NodeSearch<'_>, at: NodeIndex, length: Span, after: Time) -> BTreeSet<Time> {
    let ends = search.trial.holders(at).iter().map(|holder| gone_at(holder, search.now));
    let edges = search.bookings.on(at).iter().flat_map(|booked| {
        [booked.from, booked.to, Time(booked.from.0.saturating_sub(length.0)) + Span(1)]
    });
    let later = ends.chain(edges).filter(|time| *time > after && *time < NEVER);
    later.chain([after]).collect()
}
