//! Which nodes together hold all of a job: all of it or none of it.
//!
//! Source: man sbatch, `--nodes`, `--ntasks`, `--distribution=block`; Kant (arXiv 2510.01256)
//! 3.2.1: a gang is admitted as one.
//! Reads: the demand, what each candidate has free, the score of each. Never: picks CPUs or GPUs.
//! Knobs: none.
//!
//! Three shapes of layout:
//! - a number of nodes is given: exactly so many, tasks as even as may be, larger parts first;
//! - GPUs are given in all: the fewest nodes the idle cluster could do it with, evenly;
//! - neither: the fewest nodes that hold the tasks now; the roomiest are filled, and the rest of
//!   the tasks goes where it fits best.
//!
//! Example. Nodes a and b have 4 free CPUs each. Job 1 asks for 6 tasks: a gets 4, b gets 2. Job 2
//! asks for 6 tasks on 2 nodes: 3 and 3. Job 3 asks for 9 tasks: it does not fit, and gets nothing.

use crate::cluster::{Cluster, NodeIndex};
use crate::fit::demand::{Demand, Part};
use crate::fit::room::{holds, room};
use crate::free::View;
use crate::score::binpack;
use common::unit::{Gpus, Nodes, Tasks};
use std::collections::BTreeSet;

/// Where each part of a job goes, in rank order: no node twice, all tasks placed.
pub(crate) type Layout = Vec<(NodeIndex, Part)>;

/// Finds nodes among the candidates (rising) that together hold the job. `spread` is the number of
/// nodes for a job that has GPUs in all and no number of nodes ([`fewest_even`]).
pub(crate) fn lay_out(
    cluster: &Cluster<'_>,
    view: &View<'_>,
    candidates: &[NodeIndex],
    demand: &Demand<'_>,
    spread: Nodes,
) -> Option<Layout> {
    let hall = Hall { cluster, view, candidates, demand };
    match (demand.request.nodes, demand.gpus_total()) {
        (Some(nodes), _) => hall.even(nodes),
        (None, Some(_)) => hall.even(spread),
        (None, None) => hall.fill(),
    }
}

/// The fewest nodes over which the job can be spread evenly; `None`: it cannot.
/// No more nodes than tasks: every node of a gang runs at least one.
pub(crate) fn fewest_even(
    cluster: &Cluster<'_>,
    view: &View<'_>,
    candidates: &[NodeIndex],
    demand: &Demand<'_>,
    gpus: Gpus,
) -> Option<Nodes> {
    let hall = Hall { cluster, view, candidates, demand };
    let counts = candidates.iter().map(|at| view.on(*at).gpus.len()).max()?;
    let largest = u32::try_from(counts).unwrap_or(u32::MAX).max(1);
    let most = u32::try_from(candidates.len()).unwrap_or(u32::MAX).min(demand.request.tasks.0);
    (gpus.0.div_ceil(largest).max(1)..=most).map(Nodes).find(|nodes| hall.even(*nodes).is_some())
}

/// What the layouts look at.
struct Hall<'a> {
    cluster: &'a Cluster<'a>,
    view: &'a View<'a>,
    candidates: &'a [NodeIndex],
    demand: &'a Demand<'a>,
}

impl Hall<'_> {
    fn holds(&self, at: NodeIndex, part: Part) -> bool {
        holds(self.demand, self.cluster.node(at), self.view.on(at), part)
    }

    /// Lower is better; ties go to the lower position.
    fn penalty(&self, at: NodeIndex, part: Part) -> (u64, NodeIndex) {
        let node = self.cluster.node(at);
        let amounts = self.demand.amounts(part, node.inventory);
        (binpack::penalty(node.inventory, self.view.on(at), amounts), at)
    }

    /// The best node for one part.
    fn best(&self, part: Part, except: &BTreeSet<NodeIndex>) -> Option<NodeIndex> {
        let fitting = self.candidates.iter().copied();
        let fitting = fitting.filter(|at| !except.contains(at) && self.holds(*at, part));
        fitting.min_by_key(|at| self.penalty(*at, part))
    }

    /// Exactly so many nodes. Parts shrink, so a node that holds a part holds each later one, and
    /// taking the best node for each part in turn never spoils a later part.
    fn even(&self, nodes: Nodes) -> Option<Layout> {
        if nodes.0 == 0 || nodes.0 as usize > self.candidates.len() {
            return None;
        }
        let parts = self.demand.even_parts(nodes);
        if let [part] = parts[..] {
            return Some(vec![(self.best(part, &BTreeSet::new())?, part)]);
        }
        let smallest = *parts.last()?;
        let mut ranked: Vec<NodeIndex> =
            self.candidates.iter().copied().filter(|at| self.holds(*at, smallest)).collect();
        if ranked.len() < parts.len() {
            return None;
        }
        ranked.sort_by_cached_key(|at| self.penalty(*at, parts[0]));
        let mut layout: Layout = Vec::with_capacity(parts.len());
        for same in parts.chunk_by(|a, b| a == b) {
            let mut chosen = Vec::with_capacity(same.len());
            ranked.retain(|at| {
                let take = chosen.len() < same.len() && self.holds(*at, same[0]);
                if take {
                    chosen.push(*at);
                }
                !take
            });
            if chosen.len() < same.len() {
                return None;
            }
            chosen.sort_unstable();
            layout.extend(chosen.into_iter().map(|at| (at, same[0])));
        }
        Some(layout)
    }

    /// As few nodes as hold the tasks.
    fn fill(&self) -> Option<Layout> {
        let all = self.demand.request.tasks;
        let whole = self.demand.part(all);
        if let Some(at) = self.best(whole, &BTreeSet::new()) {
            return Some(vec![(at, whole)]);
        }
        if all.0 == 1 {
            return None;
        }
        let rooms = self.candidates.iter().map(|at| {
            let room = room(self.demand, self.cluster.node(*at), self.view.on(*at));
            (room, *at)
        });
        let mut rooms: Vec<(Tasks, NodeIndex)> = rooms.filter(|(room, _)| room.0 > 0).collect();
        if rooms.iter().map(|(room, _)| *room).sum::<Tasks>() < all {
            return None;
        }
        rooms.sort_by_cached_key(|(room, at)| {
            (std::cmp::Reverse(*room), self.penalty(*at, self.demand.part(*room)))
        });
        let (mut left, mut layout, mut used) = (all, Layout::new(), BTreeSet::new());
        for (room, at) in rooms {
            if left <= room {
                let rest = self.demand.part(left);
                layout.push((self.best(rest, &used)?, rest));
                break;
            }
            layout.push((at, self.demand.part(room)));
            used.insert(at);
            left -= room;
        }
        layout.sort_by_key(|(at, part)| (std::cmp::Reverse(*part), *at));
        Some(layout)
    }
}
