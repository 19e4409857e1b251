//! Step 8: why a job that may start does not, in numbers.

mod kept;
mod nearest;
mod one_switch;
mod planned_start;

use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::place::fit::gang::lay_out;
use crate::place::idle_fit::{could_fit, need, to_nodes};
use crate::place::node_search::NodeSearch;
use crate::round::planner::RoundState;
use crate::round::waits::Waits;
use common::id::JobKey;
use common::reason::{Need, WaitReason};
use common::resource::Request;
use common::unit::Nodes;
use std::collections::BTreeMap;

use planned_start::without_expected_start;

/// Turns the notes of a round into reasons.
pub(crate) fn explain(mut waits: Waits, state: &RoundState<'_>) -> Waits {
    let notes = std::mem::take(&mut waits.notes);
    let mut known: BTreeMap<(ShapeIndex, bool), WaitReason> = BTreeMap::new();
    let mut reason = |key: JobKey, shape: ShapeIndex, kept: Option<JobKey>| {
        let Some(job) = state.snapshot.waiting_job(key) else { return WaitReason::NotConsidered };
        if let Some(next) = kept {
            return WaitReason::Priority { ahead: state.ahead_of(key), next };
        }
        let known = known
            .entry((shape, job.reservation.is_some()))
            .or_insert_with(|| WaitExplainer::new(state, job, shape).reason());
        let mut reason = known.clone();
        let planned_start = state.reported_planned_start(job);
        if let Some(expected_at) = reason.expected_at_mut() {
            *expected_at = planned_start;
        }
        reason
    };
    for (key, (shape, kept)) in notes.by_job {
        waits.set_reason(key, reason(key, shape, kept));
    }
    for (id, (shape, kept)) in notes.by_kind {
        let wait_queue = &state.snapshot.wait_queue;
        let class =
            wait_queue.kind_of(id).and_then(|kind| wait_queue.class(kind.classes().next()?));
        if let Some(first) = class.and_then(|class| class.jobs().next()) {
            // The promise of one of them does not hold for the others.
            let found = reason(first.key, shape, kept);
            if state.planned_starts.contains_key(&first.key) {
                waits.set_reason(first.key, found.clone());
            }
            waits.set_kind_reason(id, without_expected_start(found));
        }
    }
    waits
}

/// What a reason is computed from.
struct WaitExplainer<'a> {
    search: NodeSearch<'a>,
    shape: &'a Shape<'a>,
    state: &'a RoundState<'a>,
    key: JobKey,
}

impl<'a> WaitExplainer<'a> {
    fn new(state: &'a RoundState<'a>, job: &'a WaitingJob, index: ShapeIndex) -> Self {
        let shape = state.shapes.get(index);
        let side = shape.sides()[0];
        Self { search: state.node_search(job, index, side, &[]), shape, state, key: job.key }
    }

    fn reason(&self) -> WaitReason {
        let sizes = self.shape.usable_nodes_by_class(self.search.cluster());
        if let Err(reason) = could_fit(self.search.cluster(), self.shape, &sizes) {
            return reason;
        }
        // An elastic job lacks what its minimum needs.
        let (need, part) = need(&self.shape.with_fewest_tasks(), &sizes);
        if let Some(reason) = self.unavailable_reason(&need, part) {
            return reason;
        }
        if let Some(reason) = self.reserved_reason(&need, part) {
            return reason;
        }
        let fitting = self.free_now(&need, part);
        if let Some(reason) = self.kept_reason(&need, part, &fitting) {
            return reason;
        }
        if let Some(reason) = self.beside_too_many(part) {
            return reason;
        }
        if let Some(near) = self.shape.demand.request.near.filter(|near| near.required)
            && fitting.len() >= need.nodes.0 as usize
        {
            return self.too_far_reason(near.level, need.nodes, &fitting);
        }
        WaitReason::Resources {
            nodes_free: to_nodes(fitting.len()),
            nearest: self.nearest(&need).map(Box::new),
            expected_at: None,
            need,
        }
    }

    /// Whether too many of the nodes are down or drained.
    fn unavailable_reason(&self, need: &Need, part: Part) -> Option<WaitReason> {
        let cluster = self.search.cluster();
        if cluster.unusable_count() == 0 {
            return None;
        }
        // If nodes must be near each other, those that could be.
        let beside = self.nodes_of_switch_with_fewest_down(part, need.nodes);
        let mine = |at: NodeIndex| {
            let class = &cluster.node(at).class;
            self.shape.allows(at)
                && self.shape.fits_idle(class, part)
                && beside.as_ref().is_none_or(|beside| beside.contains(&at))
        };
        let (up, down): (Vec<_>, Vec<_>) =
            cluster.nodes().filter(|(at, _)| mine(*at)).partition(|(_, node)| node.is_usable());
        let (_, example) = down.first().filter(|_| up.len() < need.nodes.0 as usize)?;
        let example = example.name.clone();
        let need = need.clone();
        Some(WaitReason::NodesUnavailable { need, unavailable: to_nodes(down.len()), example })
    }

    /// Whether it would fit if no operator had reserved anything.
    fn reserved_reason(&self, need: &Need, part: Part) -> Option<WaitReason> {
        if self.state.snapshot.reservations.is_empty() {
            return None;
        }
        let nothing = crate::place::node_search::bookings::Bookings::default();
        let open = NodeSearch { bookings: &nothing, reservation: None, ..self.search };
        let holding: Vec<NodeIndex> = open.all_that_hold(part).collect();
        if holding.len() < need.nodes.0 as usize {
            return None;
        }
        let in_the_way = holding
            .iter()
            .filter_map(|at| self.state.bookings.reservation_in_the_way(&self.search, *at))
            .min_by_key(|(_, from, _)| *from)?;
        let (name, from, to) = in_the_way;
        Some(WaitReason::NodesReserved { name: name.clone(), from, to })
    }

    /// Whether it would fit if any number of its group might share a node.
    fn beside_too_many(&self, part: Part) -> Option<WaitReason> {
        let (group, most) = self.shape.demand.request.per_node_max()?;
        let request = Request { apart: None, ..self.shape.demand.request.clone() };
        let mut shape = self.shape.with_fewest_tasks().into_owned();
        shape.demand.request = &request;
        let open = NodeSearch { shape: &shape, ..self.search };
        let nodes = open.all_that_hold(part).count();
        lay_out(&open)?;
        let group = group.to_owned();
        Some(WaitReason::GroupPerNode { group, most, nodes: to_nodes(nodes), expected_at: None })
    }

    fn too_far_reason(
        &self,
        level: common::topology::Level,
        need: Nodes,
        fitting: &[NodeIndex],
    ) -> WaitReason {
        let switches = self.search.cluster().switches();
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for switch in fitting.iter().filter_map(|at| switches.switch_of_node(level, *at)) {
            *counts.entry(switch).or_default() += 1;
        }
        let best =
            counts.into_iter().max_by_key(|(switch, nodes)| (*nodes, std::cmp::Reverse(*switch)));
        let best = best.and_then(|(switch, nodes)| {
            Some((switches.name(level, switch)?.clone(), to_nodes(nodes)))
        });
        WaitReason::Topology { level, need, best, expected_at: None }
    }
}
