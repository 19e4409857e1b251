//! The nodes that together hold a whole job, near enough to each other. A job gets all of its tasks
//! placed or none, and each node has at least one task.
//!
//! Source: man sbatch, `--nodes`, `--ntasks`, `--ntasks-per-node`, `--gpus`, `--segment`; Kant
//! (arXiv 2510.01256) 3.2.1, gang jobs are admitted as a whole, and page 9, E-Binpack.
//! Reads: what is free, and switches.
//! Knobs: `placement` of a queue.
//!
//! How many nodes:
//! - the job asks for a number of nodes, or for a total of GPUs: exactly that number, with tasks
//!   (GPUs) divided as evenly as possible, larger parts first;
//! - otherwise: the fewest nodes that hold the tasks now. Nodes with the most room are filled
//!   first, and the rest of the tasks goes where it fits best.
//!
//! Example. Nodes a and b have 4 free CPUs each. Job 1 asks for 6 tasks: a gets 4, b gets 2. Job 2
//! asks for 6 tasks on 2 nodes: 3 and 3. Job 3 asks for 9 tasks: it does not fit, and gets nothing.

use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::place::fit::{near, preference};
use crate::place::node_search::NodeSearch;
use crate::place::score::{Key, Scorer};
use common::unit::{Nodes, Tasks};

/// The node of each part of a job, in rank order. No node appears twice, and all tasks are placed.
pub(crate) type Layout = Vec<(NodeIndex, Part)>;

/// Finds nodes that together hold the job, the ones that it prefers if they have room.
pub(crate) fn lay_out(search: &NodeSearch<'_>) -> Option<Layout> {
    search.trial.searched.set(search.trial.searched.get() + 1);
    let any = lay_out_on(search)?;
    if !preference::has_any(search) {
        return Some(any);
    }
    let mut avoided = preference::avoided(search).into_iter();
    let preferred = avoided.find_map(|avoid| {
        let layout = lay_out_on(&NodeSearch { avoid: &avoid, ..*search });
        layout.filter(|layout| layout.len() <= any.len())
    });
    preferred.or(Some(any))
}

/// The same on any nodes of the search.
fn lay_out_on(search: &NodeSearch<'_>) -> Option<Layout> {
    let scorer = Scorer::new(search);
    match search.shape.node_count() {
        Some(Nodes(1)) => {
            let part = search.shape.demand.even_part(Nodes(1), 0);
            Some(vec![(best(&scorer, part, &[])?, part)])
        }
        Some(nodes) => layout_on_node_count(&scorer, nodes),
        None => layout_on_fewest_nodes(&scorer),
    }
}

/// The best node for one part, except these nodes.
pub(crate) fn best(scorer: &Scorer<'_>, part: Part, except: &[NodeIndex]) -> Option<NodeIndex> {
    let search = scorer.search;
    let least = search.takes_least(part);
    let mut best: Option<(Key, NodeIndex)> = None;
    if search.shape.among.is_some() {
        let others = search.all_that_hold(part).filter(|at| !except.contains(at));
        return others.min_by_key(|at| (scorer.key(*at, search.usage_on_node(*at, part)), *at));
    }
    let mut open: Vec<(Key, crate::model::cluster::group::GroupIndex)> = Vec::new();
    let mut first: Option<(Key, usize)> = None;
    for group in search.open_groups(least) {
        let bound = scorer.bound(group, least);
        if first.is_none_or(|(lowest, _)| bound < lowest) {
            first = Some((bound, open.len()));
        }
        open.push((bound, group));
    }
    let look = |group: crate::model::cluster::group::GroupIndex,
                best: &mut Option<(Key, NodeIndex)>| {
        for at in search.nodes_of(group).iter().copied() {
            if except.contains(&at) || !search.holds(at, part) {
                continue;
            }
            let key = (scorer.key(at, search.usage_on_node(at, part)), at);
            if best.is_none_or(|known| key < known) {
                *best = Some(key);
            }
        }
    };
    // Look at the most promising group first, then only at those that could still win.
    let (_, at) = first?;
    look(open[at].1, &mut best);
    for (number, (bound, group)) in open.iter().enumerate() {
        let could_win = best.is_none_or(|(key, node)| {
            *bound < key || (*bound == key && search.nodes_of(*group)[0] < node)
        });
        if number != at && could_win {
            look(*group, &mut best);
        }
    }
    best.map(|(_, node)| node)
}

/// Finds exactly this many nodes.
fn layout_on_node_count(scorer: &Scorer<'_>, nodes: Nodes) -> Option<Layout> {
    let demand = &scorer.search.shape.demand;
    if nodes.0 == 0 || nodes.0 as usize > scorer.search.cluster().len() {
        return None;
    }
    // Parts shrink, so a node that holds a part holds each later one.
    let parts = demand.even_parts(nodes);
    let smallest = *parts.last()?;
    let search = scorer.search;
    let mut ranked: Vec<(Key, NodeIndex)> = search
        .all_that_hold(smallest)
        .map(|at| (scorer.key(at, search.usage_on_node(at, parts[0])), at))
        .collect();
    if ranked.len() < parts.len() {
        return None;
    }
    ranked.sort_unstable();
    let ranked: Vec<NodeIndex> = ranked.into_iter().map(|(_, at)| at).collect();
    near::node_sets_nearest_first(scorer, ranked, parts.len())
        .find_map(|set| assign(search, &parts, set))
}

/// Gives each part the first node of the list that holds it. Among nodes with equal parts, ranks
/// follow the nodes' positions.
fn assign(search: &NodeSearch<'_>, parts: &[Part], mut ranked: Vec<NodeIndex>) -> Option<Layout> {
    let smallest = *parts.last()?;
    let mut layout: Layout = Vec::with_capacity(parts.len());
    for same in parts.chunk_by(|a, b| a == b) {
        let mut chosen = Vec::with_capacity(same.len());
        ranked.retain(|at| {
            let take =
                chosen.len() < same.len() && (same[0] == smallest || search.holds(*at, same[0]));
            if take {
                chosen.push(*at);
            }
            !take
        });
        if chosen.len() < same.len() {
            return None;
        }
        if search.shape.demand.request.segment.is_none() {
            chosen.sort_unstable();
        }
        layout.extend(chosen.into_iter().map(|at| (at, same[0])));
    }
    Some(layout)
}

/// Finds the fewest nodes that hold the tasks.
fn layout_on_fewest_nodes(scorer: &Scorer<'_>) -> Option<Layout> {
    let search = scorer.search;
    let demand = &search.shape.demand;
    let all = demand.tasks;
    // One node is always near enough to itself.
    if let Some(at) = best(scorer, demand.part(all), &[]) {
        return Some(vec![(at, demand.part(all))]);
    }
    if all.0 == 1 {
        return None;
    }
    let mut rooms: Vec<(Tasks, NodeIndex)> = search
        .all_that_hold(demand.part(Tasks(1)))
        .map(|at| (search.tasks_fitting(at), at))
        .collect();
    if rooms.iter().map(|(room, _)| *room).sum::<Tasks>() < all {
        return None;
    }
    let key =
        |room: Tasks, at: NodeIndex| scorer.key(at, search.usage_on_node(at, demand.part(room)));
    rooms.sort_by_cached_key(|(room, at)| (std::cmp::Reverse(*room), key(*room, *at), *at));
    near::room_sets_nearest_first(scorer, &rooms, all).find_map(|rooms| fill_from(scorer, rooms))
}

/// Fills the nodes with the most room first; the rest goes where it fits best.
fn fill_from(scorer: &Scorer<'_>, rooms: Vec<(Tasks, NodeIndex)>) -> Option<Layout> {
    let demand = &scorer.search.shape.demand;
    let (mut left, mut layout) = (demand.tasks, Layout::new());
    for (place, (room, at)) in rooms.iter().copied().enumerate() {
        if left <= room {
            let rest = demand.part(left);
            let fitting = rooms[place..].iter().filter(|(room, _)| *room >= left);
            let key = |at: NodeIndex| (scorer.key(at, scorer.search.usage_on_node(at, rest)), at);
            let at = fitting.map(|(_, at)| *at).min_by_key(|at| key(*at)).unwrap_or(at);
            layout.push((at, rest));
            layout.sort_by_key(|(at, part)| (std::cmp::Reverse(*part), *at));
            return Some(layout);
        }
        layout.push((at, demand.part(room)));
        left -= room;
    }
    None
}
