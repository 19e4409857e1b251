//! Sets of fitting nodes that are near enough to each other, nearest sets first.
//!
//! Source: Kant (arXiv 2510.01256) 3.3.5; Slurm's topology/tree and topology/block plugins;
//! Volcano, "Network Topology Aware Scheduling": a job goes under the smallest switch that holds
//! it.
//! Reads: switches of all levels.
//! Knobs: `--near`, `--segment` of a job; `near` of a service; `placement` of a queue.
//!
//! If the job asks for no nearness, E-Binpack applies: the one leaf with the fewest fitting nodes
//! that has enough of them; otherwise the fewest leafs, emptiest first, so that only one remains
//! partly used.
//!
//! Example. Leaf l has three free nodes, m two, n four. Job 1 asks for two nodes: m. Job 2 asks for
//! four: n. Job 3 asks for five with `--near leaf:required`: it waits; without it, it gets n and
//! one node of m.

use crate::model::cluster::switches::{LEVELS, SwitchIndex};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::place::node_search::NodeSearch;
use crate::place::score::Scorer;
use common::policy::Placement;
use common::topology::{Level, Nearness};
use common::unit::Tasks;
use std::collections::BTreeMap;

/// What a gang avoids so that the nodes of all its parts are near to each other: for each switch of
/// the level, in their order, the nodes that are not below it. Unless nearness is required, the
/// wider levels follow, and then nothing is avoided.
pub(crate) fn fences(
    cluster: &ClusterIndex,
    near: Option<Nearness>,
) -> impl Iterator<Item = Vec<bool>> + '_ {
    let is_tried = move |level: &Level| {
        near.is_some_and(|near| *level == near.level || !near.required && *level > near.level)
    };
    let switches = cluster.switches();
    let below_one = move |level: Level| {
        let all = (0..switches.count(level)).filter_map(|at| u32::try_from(at).ok());
        all.map(move |switch| {
            let is_there = |at| switches.switch_of_node(level, at) == Some(SwitchIndex(switch));
            cluster.nodes().map(|(at, _)| !is_there(at)).collect()
        })
    };
    let anywhere = near.is_none_or(|near| !near.required).then(Vec::new);
    LEVELS.into_iter().filter(is_tried).flat_map(below_one).chain(anywhere)
}

/// Sets of at least `count` of these nodes (best first) to try, nearest first. The first `count`
/// nodes of a set are the ones to take.
pub(crate) fn node_sets_nearest_first<'a>(
    scorer: &'a Scorer<'_>,
    ranked: Vec<NodeIndex>,
    count: usize,
) -> impl Iterator<Item = Vec<NodeIndex>> + 'a {
    let search = scorer.search;
    let request = search.shape.demand.request;
    let block = request.segment.map_or(count, |nodes| (nodes.0 as usize).clamp(1, count));
    levels(search).into_iter().filter_map(move |level| match level {
        Some(level) if block < count => blocks(search, level, &ranked, block, count),
        Some(level) => under_one(search, level, &ranked, count),
        None if search.placement == Placement::EBinpack => Some(few_leafs(search, &ranked, count)),
        None => Some(ranked.clone()),
    })
}

/// Subsets of nodes with room for all tasks, nearest first.
pub(crate) fn room_sets_nearest_first<'a>(
    scorer: &'a Scorer<'_>,
    rooms: &'a [(Tasks, NodeIndex)],
    all: Tasks,
) -> impl Iterator<Item = Vec<(Tasks, NodeIndex)>> + 'a {
    let search = scorer.search;
    levels(search).into_iter().filter_map(move |level| {
        let Some(level) = level else { return Some(rooms.to_vec()) };
        let mut by_switch: BTreeMap<SwitchIndex, Vec<(Tasks, NodeIndex)>> = BTreeMap::new();
        for room in rooms {
            if let Some(switch) = search.cluster().switches().switch_of_node(level, room.1) {
                by_switch.entry(switch).or_default().push(*room);
            }
        }
        let room = |set: &Vec<(Tasks, NodeIndex)>| set.iter().map(|(r, _)| *r).sum::<Tasks>();
        let enough = by_switch.into_values().filter(|set| room(set) >= all);
        enough.min_by_key(|set| room(set))
    })
}

/// The levels to try: the one asked for and, unless it is required, the wider ones. `None`: any
/// nodes.
fn levels(search: &NodeSearch<'_>) -> Vec<Option<Level>> {
    let Some(near) = search.shape.demand.request.near else {
        // A segment without a level is a block under one leaf (man sbatch, `--segment`).
        return match search.shape.demand.request.segment {
            Some(_) => vec![Some(Level::Leaf)],
            None => vec![None],
        };
    };
    if near.required {
        return vec![Some(near.level)];
    }
    let wider = LEVELS.into_iter().filter(|level| *level >= near.level).map(Some);
    wider.chain([None]).collect()
}

/// These nodes by switch, best first for each.
fn by_switch(
    search: &NodeSearch<'_>,
    level: Level,
    ranked: &[NodeIndex],
) -> BTreeMap<SwitchIndex, Vec<NodeIndex>> {
    let mut by_switch: BTreeMap<SwitchIndex, Vec<NodeIndex>> = BTreeMap::new();
    for at in ranked {
        if let Some(switch) = search.cluster().switches().switch_of_node(level, *at) {
            by_switch.entry(switch).or_default().push(*at);
        }
    }
    by_switch
}

/// All nodes under the one switch that has the fewest of them, but enough.
fn under_one(
    search: &NodeSearch<'_>,
    level: Level,
    ranked: &[NodeIndex],
    count: usize,
) -> Option<Vec<NodeIndex>> {
    let enough = by_switch(search, level, ranked).into_values().filter(|set| set.len() >= count);
    let set = enough.min_by_key(Vec::len)?;
    let packs = search.placement == Placement::EBinpack && level > Level::Leaf;
    Some(if packs { few_leafs(search, &set, count) } else { set })
}

/// Blocks of `block` nodes, each under one switch. The last block may be smaller.
fn blocks(
    search: &NodeSearch<'_>,
    level: Level,
    ranked: &[NodeIndex],
    block: usize,
    count: usize,
) -> Option<Vec<NodeIndex>> {
    let mut sets = by_switch(search, level, ranked);
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count {
        let need = block.min(count - chosen.len());
        let enough = sets.iter_mut().filter(|(_, set)| set.len() >= need);
        // A switch with many nodes gets several blocks next to each other.
        let (_, set) =
            enough.max_by_key(|(switch, set)| (set.len(), std::cmp::Reverse(**switch)))?;
        chosen.extend(set.drain(..need));
    }
    Some(chosen)
}

/// The fewest leafs. Nodes without a known leaf come last.
fn few_leafs(search: &NodeSearch<'_>, ranked: &[NodeIndex], count: usize) -> Vec<NodeIndex> {
    let switches = search.cluster().switches();
    let mut leafs: Vec<Vec<NodeIndex>> =
        by_switch(search, Level::Leaf, ranked).into_values().collect();
    // Emptiest first; best fit for the remainder.
    leafs.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let mut chosen = Vec::with_capacity(ranked.len());
    while chosen.len() < count && !leafs.is_empty() {
        let left = count - chosen.len();
        let fitting = leafs.iter().rposition(|set| set.len() >= left);
        chosen.extend(leafs.remove(fitting.unwrap_or(0)));
    }
    chosen.extend(leafs.into_iter().flatten());
    let unknown = ranked.iter().filter(|at| switches.switch_of_node(Level::Leaf, **at).is_none());
    chosen.extend(unknown);
    chosen
}

#[cfg(test)]
mod tests {
    use crate::testing::{gpu_node, gpu_request, placed, set_leaf_groups, snapshot, waiting};
    use common::topology::{Level, Nearness};
    use common::unit::{Nodes, Tasks};

    #[test]
    fn the_example() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let leafs = [("l", "a b c"), ("m", "d e"), ("n", "f g h i")];
        let place = |nodes: u32, near: Option<Nearness>| {
            let mut snapshot = snapshot(names.map(|name| gpu_node(name, 8)).to_vec());
            set_leaf_groups(&mut snapshot, &leafs);
            let mut request = gpu_request(8);
            (request.nodes, request.tasks, request.near) = (Some(Nodes(nodes)), Tasks(nodes), near);
            snapshot.set_waiting(waiting(1, request, 10));
            placed(&snapshot).join(",").replace(":0-7", "")
        };
        assert_eq!(place(2, None), "1 d e");
        assert_eq!(place(4, None), "1 f g h i");
        assert_eq!(place(5, None), "1 d f g h i");
        let required = Nearness { level: Level::Leaf, required: true };
        assert_eq!(place(5, Some(required)), "");
        assert_eq!(place(4, Some(required)), "1 f g h i");
    }

    #[test]
    fn segments_keep_each_block_under_one_leaf() {
        let mut snapshot =
            snapshot(["a", "b", "c", "d", "e"].map(|name| gpu_node(name, 8)).to_vec());
        set_leaf_groups(&mut snapshot, &[("l", "a b c"), ("m", "d e")]);
        let mut request = gpu_request(8);
        (request.nodes, request.tasks) = (Some(Nodes(4)), Tasks(4));
        request.segment = Some(Nodes(2));
        snapshot.set_waiting(waiting(1, request, 10));
        assert_eq!(placed(&snapshot), ["1 a:0-7 b:0-7 d:0-7 e:0-7"]);
    }
}
