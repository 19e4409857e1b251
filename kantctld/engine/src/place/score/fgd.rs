//! Fragmentation gradient descent (FGD): the node whose fragmentation, as typical jobs see it,
//! improves most or worsens least.
//!
//! Source: Q. Weng et al., "Beware of Fragmentation" (USENIX ATC'23), sections 3 and 4.
//! Reads: free CPUs, memory and GPUs of the node; the typical jobs ([`Typical`]). Not leafs.
//! Knobs: none.
//!
//! A node's fragmentation is the part of its free GPUs that a typical job, drawn by its weight,
//! cannot use: all of them if the job does not fit there or needs no GPU, otherwise those GPUs with
//! too little free for it. The node (and, for a share of a GPU, the GPU) with the largest drop
//! wins. As in the paper, the drop is mapped to 0 to 100, so that small differences tie.
//!
//! Example. The typical job asks for 0.5 GPU. Node a has one GPU with 0.6 free, node b one GPU that
//! is all free. Job 1 asks for 0.6: a, since on b it would leave 0.4, which no typical job can use.
//! Job 2 asks for 0.5: b. Job 3 asks for 0.5: b.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::free::Free;
use crate::model::cluster::node::Node;
use crate::model::cluster::tally::Takes;
use crate::model::typical::Typical;
use crate::model::yardstick::{Ask, Yardstick};
use crate::place::node_search::NodeSearch;
use crate::place::score::Key;
use common::unit::{Bytes, Cpus, GpuMilli};

pub(crate) fn key(search: &NodeSearch<'_>, at: NodeIndex, takes: Takes) -> Key {
    let (_, drop) = best(search, at, search.trial.free(at), takes);
    let squeezed = (100.0 / (1.0 + (-drop / 1000.0).exp())).floor();
    // From 0 to 100; the largest drop gives the smallest key.
    [100 - squeezed as u64, 0, 0, 0, 0]
}

/// The GPUs (by position) of which to take a share each, for a request for shares. `free`: what is
/// free on the node for it.
pub(crate) fn best_gpus(
    search: &NodeSearch<'_>,
    at: NodeIndex,
    free: &Free,
    takes: Takes,
) -> Vec<usize> {
    best(search, at, free, takes).0
}

/// Thousandths of the node's free GPUs that the typical job cannot use at present.
pub(crate) fn fragmentation(node: &Node, typical: &[Typical]) -> f64 {
    let yardstick = Yardstick::of(&node.class, typical);
    let jobs: i64 = typical.iter().map(|one| i64::from(one.jobs)).sum();
    let free = &node.free;
    let slots =
        Slots::of(&yardstick, free.free_milli_by_gpu().collect(), free.core_cpus, free.memory);
    slots.fragmentation() as f64 / jobs.max(1) as f64
}

/// The best way to take this much of the node, one share after the other, and the resulting drop in
/// fragmentation.
fn best(search: &NodeSearch<'_>, at: NodeIndex, free: &Free, takes: Takes) -> (Vec<usize>, f64) {
    let class = &search.cluster().node(at).class;
    let nothing = Yardstick::default();
    let yardstick = search.shape.typical.get(class).unwrap_or(&nothing);
    let jobs = search.shape.typical.jobs.max(1) as f64;
    let slots = |cpus: Cpus, memory: Bytes| {
        Slots::of(yardstick, free.free_milli_by_gpu().collect(), cpus, memory)
    };
    let before = slots(free.core_cpus, free.memory).fragmentation();
    let mut slots =
        slots(free.core_cpus - takes.resources.cpus, free.memory - takes.resources.memory);
    let drop = |after: i64| (before - after) as f64 / jobs;
    let accepted = class.accepted_positions(search.shape.demand.request);
    if takes.milli == GpuMilli::ZERO {
        let mut left = takes.resources.gpus.0;
        for position in 0..slots.milli.len() {
            if left > 0 && slots.milli[position] == 1000 && accepted >> position & 1 == 1 {
                slots.take(position, 1000);
                left -= 1;
            }
        }
        return (Vec::new(), drop(slots.fragmentation()));
    }
    let share = u16::try_from(takes.milli.0).unwrap_or(u16::MAX);
    let is_of_one_kind = class.kinds().len() <= 1;
    let (mut chosen, mut others, mut after) = (Vec::new(), accepted, before);
    for _ in 0..takes.shared.0 {
        let mut next: Option<(usize, i64)> = None;
        for position in 0..slots.milli.len() {
            let milli = slots.milli[position];
            let is_open = |at: usize| others >> at & 1 == 1;
            // A GPU that is as full as an earlier one gives the same result.
            let is_known = || (0..position).any(|at| is_open(at) && slots.milli[at] == milli);
            if !is_open(position) || milli < share || (is_of_one_kind && is_known()) {
                continue;
            }
            let left = slots.fragmentation_without(position, share);
            if next.is_none_or(|(_, least)| left < least) {
                next = Some((position, left));
            }
        }
        let Some((position, left)) = next else { return (Vec::new(), f64::NEG_INFINITY) };
        slots.take(position, share);
        others &= !(1 << position);
        chosen.push(position);
        after = left;
    }
    (chosen, drop(after))
}

/// A node as it is, or as it would be.
struct Slots<'y> {
    yardstick: &'y Yardstick,
    milli: Vec<u16>,
    /// Free thousandths of GPUs.
    all: i64,
    rooms: Vec<Room>,
}

/// What the node has for shapes that ask for the same GPUs.
#[derive(Clone, Copy)]
struct Room {
    /// Jobs with enough CPUs and memory.
    fitting: i64,
    /// GPUs with enough free.
    gpus: u32,
    /// Free thousandths of the other GPUs.
    scraps: i64,
}

impl Room {
    /// Adds (`sign` 1) or removes (`sign` -1) a GPU with this much free.
    fn tally_gpu(&mut self, ask: &Ask, position: usize, milli: u16, sign: i8) {
        if ask.accepted >> position & 1 == 1 && milli >= ask.milli {
            self.gpus = self.gpus.saturating_add_signed(sign.into());
        } else {
            self.scraps += i64::from(sign) * i64::from(milli);
        }
    }

    /// The sum, over the jobs, of what each cannot use of `all`.
    fn unusable(&self, ask: &Ask, all: i64) -> i64 {
        if self.gpus < ask.gpus {
            return ask.jobs * all;
        }
        self.fitting * self.scraps + (ask.jobs - self.fitting) * all
    }
}

impl<'y> Slots<'y> {
    /// A node with this much free.
    fn of(yardstick: &'y Yardstick, milli: Vec<u16>, cpus: Cpus, memory: Bytes) -> Self {
        let room = |ask: &Ask| {
            let mut room = Room { fitting: ask.fitting(cpus, memory), gpus: 0, scraps: 0 };
            let each = milli.iter().enumerate();
            each.for_each(|(at, milli)| room.tally_gpu(ask, at, *milli, 1));
            room
        };
        let rooms = yardstick.asks.iter().map(room).collect();
        let all = milli.iter().map(|milli| i64::from(*milli)).sum();
        Self { yardstick, milli, all, rooms }
    }

    /// Takes this share of a GPU.
    fn take(&mut self, position: usize, share: u16) {
        let milli = self.milli[position];
        for (ask, room) in self.yardstick.asks.iter().zip(&mut self.rooms) {
            room.tally_gpu(ask, position, milli, -1);
            room.tally_gpu(ask, position, milli - share, 1);
        }
        self.milli[position] -= share;
        self.all -= i64::from(share);
    }

    /// The sum, over the typical jobs, of the thousandths of GPUs that each cannot use.
    fn fragmentation(&self) -> i64 {
        let asks = self.yardstick.asks.iter().zip(&self.rooms);
        self.yardstick.useless * self.all
            + asks.map(|(ask, room)| room.unusable(ask, self.all)).sum::<i64>()
    }

    /// The same with this share of a GPU taken.
    fn fragmentation_without(&self, position: usize, share: u16) -> i64 {
        let (milli, all) = (self.milli[position], self.all - i64::from(share));
        let unusable = |(ask, room): (&Ask, &Room)| {
            let mut room = *room;
            room.tally_gpu(ask, position, milli, -1);
            room.tally_gpu(ask, position, milli - share, 1);
            room.unusable(ask, all)
        };
        let asks = self.yardstick.asks.iter().zip(&self.rooms);
        self.yardstick.useless * all + asks.map(unusable).sum::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{
        gpu_node, placed, set_placement_policy, share_request, snapshot, waiting,
    };
    use common::policy::Placement;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![gpu_node("a", 1), gpu_node("b", 1)]);
        set_placement_policy(&mut snapshot, Placement::Fgd);
        crate::testing::use_share(&mut snapshot, "a", 400);
        snapshot.set_typical(vec![crate::model::typical::Typical::share(500)]);
        for (job, milli) in [(1, 600), (2, 500), (3, 500)] {
            snapshot.set_waiting(waiting(job, share_request(milli), 10));
        }
        assert_eq!(placed(&snapshot), ["1 a:0", "2 b:0", "3 b:0"]);
    }
}
