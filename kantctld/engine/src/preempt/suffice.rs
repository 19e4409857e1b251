//! Whether a search for victims could find any: by whole GPUs alone, node by node, which costs less
//! than one placement on trial. Never says no where all of them together would make room.
//!
//! Source: ours; a necessary condition of what the search itself demands of each node.
//!
//! Most jobs that ask want whole nodes, and most of what may be asked for lies scattered.

use super::{Asker, Candidate};
use crate::desk::Desk;
use crate::floor::NodeIndex;
use common::resource::GpuRequest;
use std::collections::BTreeMap;

/// Were all of these gone, and those on their way out, would enough nodes have the GPUs? Says yes
/// where it does not know.
pub(super) fn could_suffice(desk: &Desk<'_>, asker: &Asker<'_>, victims: &[Candidate<'_>]) -> bool {
    let shape = &asker.shape;
    let Some(nodes) = shape.nodes() else { return true };
    if matches!(shape.demand.request.gpus, None | Some(GpuRequest::Fraction(_))) {
        return true;
    }
    let Some(part) = shape.demand.even_parts(nodes).last().copied() else { return true };
    let gpus = part.gpus.0;
    let floor = desk.trial.floor;
    let has = |at: NodeIndex| desk.trial.free(at).gpus.count_ones();
    let mut with_them: BTreeMap<NodeIndex, u32> = BTreeMap::new();
    let leaving = desk.on_the_way_out().filter_map(|key| desk.snapshot.running(key));
    for job in leaving.chain(victims.iter().map(|victim| victim.job)) {
        for share in job.allocation.shares() {
            if let Some(at) = floor.find(&share.node) {
                let count = u32::try_from(share.gpus.len()).unwrap_or(u32::MAX);
                let sum = with_them.entry(at).or_insert_with(|| has(at));
                // Of a job with the whole node all GPUs come free.
                *sum = if job.whole_nodes { u32::MAX } else { sum.saturating_add(count) };
            }
        }
    }
    let theirs = with_them.values().filter(|sum| **sum >= gpus).count();
    let missing = (nodes.0 as usize).saturating_sub(theirs);
    let others = floor.nodes().filter(|(at, _)| !with_them.contains_key(at) && has(*at) >= gpus);
    others.take(missing).count() >= missing
}
