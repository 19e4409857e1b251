//! A quick test whether a search for victims could succeed: by whole GPUs alone, counted once for
//! all jobs with the same candidates, less nodes that are reserved for others. It never rules out a
//! search that all candidates together would satisfy.
//!
//! Source: ours; a necessary condition of what the search itself demands of each node.
//!
//! Most jobs that preempt want whole nodes, and most candidates' GPUs are scattered over nodes.

use super::{Asker, Candidate};
use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::round::planner::RoundState;
use common::resource::GpuRequest;
use std::collections::BTreeSet;

/// No node has more GPUs than this.
const GPUS_MAX: usize = 128;

/// The whole GPUs of each node once jobs that are leaving are gone.
pub(super) fn gpus_to_come(state: &RoundState<'_>) -> Vec<u32> {
    let cluster = state.trial.cluster;
    let mut gpus: Vec<u32> =
        cluster.nodes().map(|(at, _)| state.trial.free(at).gpus.count_ones()).collect();
    for key in state.on_the_way_out() {
        let Some(job) = state.snapshot.running_job(key) else { continue };
        for (at, count) in state.snapshot.nodes_of(key) {
            add(&mut gpus[at.at()], *count, job.whole_nodes);
        }
    }
    for (whole_nodes, part) in state.parts_to_go() {
        for (at, count) in &part.nodes {
            add(&mut gpus[at.at()], *count, whole_nodes);
        }
    }
    gpus
}

/// A job that has the whole node frees all GPUs.
fn add(gpus: &mut u32, count: u32, whole_nodes: bool) {
    *gpus = if whole_nodes { u32::MAX } else { gpus.saturating_add(count) };
}

/// What nodes have once certain jobs are gone.
pub(super) struct Freed {
    /// The unshared GPUs of each node, MIG devices too: at least as many as any job finds there.
    gpus: Vec<u32>,
    /// The number of nodes with at least this many GPUs.
    nodes: [u32; GPUS_MAX + 1],
}

/// Whether the candidates could be enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Could {
    Yes,
    /// Not for a job with this end or a later one.
    NotSoLong,
    No,
}

impl Freed {
    /// The GPUs once these are gone as well.
    pub fn of(gpus_to_come: &[u32], victims: &[Candidate<'_>]) -> Self {
        let mut gpus = gpus_to_come.to_vec();
        for victim in victims {
            for (at, count) in victim.nodes {
                add(&mut gpus[at.at()], *count, victim.job.whole_nodes);
            }
        }
        let mut nodes = [0; GPUS_MAX + 1];
        for gpus in &gpus {
            nodes[(*gpus as usize).min(GPUS_MAX)] += 1;
        }
        for gpus in (0..GPUS_MAX).rev() {
            nodes[gpus] += nodes[gpus + 1];
        }
        Self { gpus, nodes }
    }

    /// Whether enough nodes would have the GPUs. Unknown counts as yes.
    pub fn could_suffice(&self, state: &RoundState<'_>, asker: &Asker<'_>) -> Could {
        let shape = &asker.shape;
        let Some(nodes) = shape.node_count().filter(|nodes| nodes.0 > 0) else { return Could::Yes };
        if matches!(shape.demand.request.gpus, None | Some(GpuRequest::Parts(_))) {
            return Could::Yes;
        }
        let part = shape.demand.even_part(nodes, nodes.0 - 1);
        let count = self.nodes.get(part.gpus.0 as usize).copied().unwrap_or(0);
        if count < nodes.0 {
            return Could::No;
        }
        let left = (count as usize).saturating_sub(self.kept_for_others(state, asker, part));
        if left < nodes.0 as usize { Could::NotSoLong } else { Could::Yes }
    }

    /// A lower bound on the nodes with enough GPUs that no part of the job can use, whatever is
    /// stopped: booked for others, or needed for starts promised before its end and not large
    /// enough for both.
    fn kept_for_others(&self, state: &RoundState<'_>, asker: &Asker<'_>, part: Part) -> usize {
        let has_enough = |at: &NodeIndex| self.gpus[at.at()] >= part.gpus.0;
        let mut kept: BTreeSet<NodeIndex> = BTreeSet::new();
        if let Some(side) = asker.shape.sides().first() {
            let search = state.node_search_of(asker.job, &asker.shape, *side, &[]);
            let booked = |at: &NodeIndex| {
                has_enough(at) && state.bookings.reservation_in_the_way(&search, *at).is_some()
            };
            kept.extend(state.bookings.reserved_nodes().filter(booked));
        }
        let sizes = state.trial.cluster.class_sizes().iter();
        let largest = sizes.map(|(class, _)| class.gpu_count().0).max().unwrap_or(0);
        let ends = state.ends_by(asker.job.time_limit);
        let mut spared = 0;
        for (_, shadow) in state.shadows.iter().filter(|(_, shadow)| shadow.at < ends) {
            let Some((other, spare)) = shadow.part_and_spare() else { continue };
            if other.gpus.0 + part.gpus.0 <= largest {
                continue;
            }
            let nodes: Vec<NodeIndex> =
                shadow.nodes().filter(|at| has_enough(at) && !kept.contains(at)).collect();
            if nodes.len() > spare {
                kept.extend(nodes);
                spared += spare;
            }
        }
        kept.len() - spared
    }
}
