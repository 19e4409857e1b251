//! Whether a search for victims could find any: by whole GPUs alone, counted once for all that may
//! ask the same. Never says no where all of them together would make room.
//!
//! Source: ours; a necessary condition of what the search itself demands of each node.
//!
//! Most jobs that ask want whole nodes, and most of what may be asked for lies scattered.

use super::{Asker, Candidate};
use crate::desk::Desk;
use common::resource::GpuRequest;

/// No node has more GPUs than this.
const GPUS_MAX: usize = 128;

/// How many whole GPUs each node has once those are gone that are on their way out.
pub(super) fn gpus_to_come(desk: &Desk<'_>) -> Vec<u32> {
    let floor = desk.trial.floor;
    let mut gpus: Vec<u32> =
        floor.nodes().map(|(at, _)| desk.trial.free(at).gpus.count_ones()).collect();
    for key in desk.on_the_way_out() {
        let Some(job) = desk.snapshot.running(key) else { continue };
        for (at, count) in desk.snapshot.nodes_of(key) {
            add(&mut gpus[at.at()], *count, job.whole_nodes);
        }
    }
    gpus
}

/// Of a job with the whole node all GPUs come free.
fn add(gpus: &mut u32, count: u32, whole_nodes: bool) {
    *gpus = if whole_nodes { u32::MAX } else { gpus.saturating_add(count) };
}

/// How many nodes have so many whole GPUs, or more, once certain jobs are gone.
pub(super) struct Freed([u32; GPUS_MAX + 1]);

impl Freed {
    /// Once these are gone, too.
    pub fn of(gpus_to_come: &[u32], victims: &[Candidate<'_>]) -> Self {
        let mut gpus = gpus_to_come.to_vec();
        for victim in victims {
            for (at, count) in victim.nodes {
                add(&mut gpus[at.at()], *count, victim.job.whole_nodes);
            }
        }
        let mut nodes = [0; GPUS_MAX + 1];
        for gpus in gpus {
            nodes[(gpus as usize).min(GPUS_MAX)] += 1;
        }
        for gpus in (0..GPUS_MAX).rev() {
            nodes[gpus] += nodes[gpus + 1];
        }
        Self(nodes)
    }

    /// Would enough nodes have the GPUs? Says yes where it does not know.
    pub fn could_suffice(&self, asker: &Asker<'_>) -> bool {
        let shape = &asker.shape;
        let Some(nodes) = shape.nodes() else { return true };
        if matches!(shape.demand.request.gpus, None | Some(GpuRequest::Fraction(_))) {
            return true;
        }
        let Some(part) = nodes.0.checked_sub(1).map(|last| shape.demand.even_part(nodes, last))
        else {
            return true;
        };
        self.0.get(part.gpus.0 as usize).is_some_and(|count| *count >= nodes.0)
    }
}
