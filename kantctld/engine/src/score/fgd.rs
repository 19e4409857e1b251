//! Fragmentation gradient descent: the node where the typical job loses the least room.
//!
//! Source: Q. Weng et al., "Beware of Fragmentation" (USENIX ATC'23), sections 3 and 4.
//! Reads: free CPUs, memory and GPUs of the node; the typical jobs ([`Typical`]). Never: leafs.
//! Knobs: none.
//!
//! A node's fragmentation is what a typical job, drawn by its weight, cannot use of its free GPUs:
//! all of them if it does not fit there or needs none, else those with too little free for one of
//! its GPUs. The node (and for a share of a GPU, the GPU) wins where that shrinks most; the drop is
//! squeezed to 0 to 100 as in the paper, so that small differences tie.
//!
//! Example. The typical job asks for 0.5 GPU. Node a has one GPU with 0.6 free, node b one GPU that
//! is all free. Job 1 asks for 0.6: a, since on b it would leave 0.4 that nobody wants. Job 2 asks
//! for 0.5: b. Job 3 asks for 0.5: b.

use crate::fit::hall::Hall;
use crate::floor::NodeIndex;
use crate::floor::class::Class;
use crate::floor::free::Free;
use crate::floor::node::Node;
use crate::floor::tally::Takes;
use crate::score::Key;
use crate::typical::Typical;
use common::unit::{Bytes, Cpus, GpuMilli};

pub(crate) fn key(hall: &Hall<'_>, at: NodeIndex, takes: Takes) -> Key {
    let (_, drop) = best(hall, at, takes);
    let squeezed = (100.0 / (1.0 + (-drop / 1000.0).exp())).floor();
    // From 0 to 100; the largest drop is the smallest key.
    [100 - squeezed as u64, 0, 0, 0, 0]
}

/// The GPUs (by position) to take a share of each of, where the request is for shares.
pub(crate) fn best_gpus(hall: &Hall<'_>, at: NodeIndex, takes: Takes) -> Vec<usize> {
    best(hall, at, takes).0
}

/// The best way to take this much of the node, one share after the other, and by how much
/// fragmentation drops.
fn best(hall: &Hall<'_>, at: NodeIndex, takes: Takes) -> (Vec<usize>, f64) {
    let class = &hall.floor().node(at).class;
    let free = hall.trial.free(at);
    let mut slots = Slots::free(class, free, &hall.shape.typical);
    let before = slots.fragmentation();
    slots.cpus -= takes.cpus;
    slots.memory -= takes.memory;
    let accepted = class.accepted(hall.shape.demand.request);
    if takes.milli == GpuMilli::ZERO {
        let mut left = takes.gpus.0;
        for (position, milli) in slots.milli.iter_mut().enumerate() {
            if left > 0 && *milli == 1000 && accepted >> position & 1 == 1 {
                *milli = 0;
                left -= 1;
            }
        }
        return (Vec::new(), before - slots.fragmentation());
    }
    let share = u16::try_from(takes.milli.0).unwrap_or(u16::MAX);
    let (mut chosen, mut others, mut dropped) = (Vec::new(), accepted, 0.0);
    for _ in 0..takes.shared.0 {
        let mut next: Option<(usize, f64)> = None;
        for position in 0..slots.milli.len() {
            if others >> position & 1 == 0 || slots.milli[position] < share {
                continue;
            }
            slots.milli[position] -= share;
            let by = before - slots.fragmentation();
            slots.milli[position] += share;
            if next.is_none_or(|(_, largest)| by > largest) {
                next = Some((position, by));
            }
        }
        let Some((position, by)) = next else { return (Vec::new(), f64::NEG_INFINITY) };
        slots.milli[position] -= share;
        others &= !(1 << position);
        chosen.push(position);
        dropped = by;
    }
    (chosen, dropped)
}

/// A node as it is, or as it would be.
pub(crate) struct Slots<'a> {
    class: &'a Class,
    typical: &'a [Typical],
    cpus: Cpus,
    memory: Bytes,
    milli: Vec<u16>,
}

impl<'a> Slots<'a> {
    /// A node with this much free.
    fn free(class: &'a Class, free: &Free, typical: &'a [Typical]) -> Self {
        let (cpus, memory, milli) = (free.core_cpus, free.memory, free.milli.clone());
        Self { class, typical, cpus, memory, milli }
    }

    /// A node as it is now.
    pub(crate) fn of(node: &'a Node, typical: &'a [Typical]) -> Self {
        Self::free(&node.class, &node.free, typical)
    }

    /// Thousandths of GPUs that the typical job cannot use.
    pub(crate) fn fragmentation(&self) -> f64 {
        let all: u32 = self.milli.iter().map(|milli| u32::from(*milli)).sum();
        let unusable = |typical: &Typical| -> f64 {
            let accepted = self.accepted(typical);
            if !self.fits(typical, accepted) {
                return f64::from(all);
            }
            let is_scrap =
                |(at, milli): &(usize, &u16)| accepted >> at & 1 == 0 || **milli < typical.milli;
            let scraps = self.milli.iter().enumerate().filter(is_scrap);
            scraps.map(|(_, milli)| f64::from(*milli)).sum()
        };
        self.typical.iter().map(|typical| typical.weight * unusable(typical)).sum()
    }

    /// The positions of GPUs that the typical job accepts.
    fn accepted(&self, typical: &Typical) -> u128 {
        let kinds = typical.kinds.as_ref();
        kinds.map_or_else(|| self.class.of_no_kind(), |kinds| self.class.positions(kinds))
    }

    fn fits(&self, typical: &Typical, accepted: u128) -> bool {
        if typical.gpus == 0 || typical.cpus > self.cpus || typical.memory > self.memory {
            return false;
        }
        let enough = self.milli.iter().enumerate();
        let enough =
            enough.filter(|(at, milli)| accepted >> at & 1 == 1 && **milli >= typical.milli);
        enough.count() >= typical.gpus as usize
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{gpu_node, placed, share_request, snapshot, waiting, with_placement};
    use common::policy::Placement;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![gpu_node("a", 1), gpu_node("b", 1)]);
        with_placement(&mut snapshot, Placement::Fgd);
        crate::testing::use_share(&mut snapshot, "a", 400);
        snapshot.set_typical(vec![crate::typical::Typical::share(500)]);
        for (job, milli) in [(1, 600), (2, 500), (3, 500)] {
            snapshot.set_waiting(waiting(job, share_request(milli), 10));
        }
        assert_eq!(placed(&snapshot), ["1 a:0", "2 b:0", "3 b:0"]);
    }
}
