//! An upper bound by counting pieces. A node with room for c of something holds at most c / s
//! pieces of size s, and a request for a takes up at least a / s of them, both rounded down. Sums
//! over nodes rule out what no order of placements could achieve. A count never proves that
//! something fits.
//!
//! Example, three nodes of 8 GPUs with a job of 5 on each, all free to move, and a job of 5 waits:
//! 24 GPUs, and 20 are needed; but in pieces of 5 there is room for 3, and 4 are needed. What is
//! not ruled out may still not fit: two nodes of 7, jobs of 3, 3 and 3, and one of 5.

use super::item::{CPUS, GPU_MILLI, MEMORY, WHOLE_GPUS};
use super::model::{Job, Model, Node, Owner};
use super::{Count, Counted};
use common::resource::Share;
use std::collections::BTreeSet;

/// At most this many sizes of GPU requests are counted, the largest.
const SIZES_MAX: usize = 8;

/// A resource, the size of its pieces, and the nodes that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measure {
    of: usize,
    size: i64,
    /// Whether only nodes that suit the waiting job are counted.
    suiting: bool,
}

impl Measure {
    /// The measures worth counting, the simplest first.
    pub fn all(model: &Model) -> Vec<Self> {
        let sizes = |of: usize, jobs: &[Job], least: i64| {
            let asked = jobs.iter().flat_map(|job| &job.parts.each).map(|part| part[of]);
            let sizes: BTreeSet<i64> = asked.filter(|size| *size > least).collect();
            let largest = sizes.into_iter().rev().take(SIZES_MAX);
            std::iter::once(least).chain(largest).collect::<Vec<i64>>()
        };
        let own = &model.jobs[..1];
        let mut all: Vec<(usize, i64)> = Vec::new();
        for (of, jobs, least) in [
            (WHOLE_GPUS, &model.jobs[..], 1000),
            (GPU_MILLI, own, 1),
            (CPUS, own, 1),
            (MEMORY, own, 1),
        ] {
            all.extend(sizes(of, jobs, least).into_iter().map(|size| (of, size)));
        }
        let by_nodes =
            |suiting| all.clone().into_iter().map(move |(of, size)| Self { of, size, suiting });
        by_nodes(true).chain(by_nodes(false)).collect()
    }

    fn counts_node_kind(&self, model: &Model, kind: usize) -> bool {
        !self.suiting || model.jobs[0].suits[kind]
    }

    /// The pieces on a node.
    pub fn room(&self, model: &Model, node: &Node) -> i64 {
        if node.is_closed || !self.counts_node_kind(model, node.kind) {
            return 0;
        }
        node.free[self.of].max(0) / self.size
    }

    /// The pieces that the parts of a job take up, wherever on these nodes they are; 0 if they may
    /// be on other nodes.
    pub fn pieces_of_job(&self, model: &Model, owner: Owner) -> i64 {
        let parts = &model.jobs[owner].parts.each;
        if self.may_be_elsewhere(model, owner) {
            0
        } else {
            parts.iter().map(|part| self.pieces_in_part(part)).sum()
        }
    }

    /// The pieces of one part; see [`Self::may_be_elsewhere`].
    pub fn pieces_in_part(&self, part: &[i64; 4]) -> i64 {
        part[self.of] / self.size
    }

    pub fn may_be_elsewhere(&self, model: &Model, owner: Owner) -> bool {
        let suits = &model.jobs[owner].suits;
        suits.iter().enumerate().any(|(kind, suits)| *suits && !self.counts_node_kind(model, kind))
    }

    /// The most pieces that become free if a job is lifted, less those that it needs then.
    pub fn gain(&self, model: &Model, owner: Owner) -> i64 {
        let held = model.jobs[owner].held.iter();
        let held = held.filter(|(place, _)| self.counts_node_kind(model, model.nodes[*place].kind));
        // A share of a GPU may be all that keeps that GPU from being free.
        let free: i64 =
            held.map(|(_, share)| -(-self.pieces_kept_by_share(share)).div_euclid(self.size)).sum();
        free - self.pieces_of_job(model, owner)
    }

    /// The most that a share keeps from others.
    fn pieces_kept_by_share(&self, share: &Share) -> i64 {
        let gpus = i64::try_from(share.gpus.len()).unwrap_or(0);
        match self.of {
            WHOLE_GPUS => gpus * 1000,
            GPU_MILLI => gpus * share.gpu_milli.map_or(1000, |milli| i64::from(milli.0)),
            CPUS => i64::from(share.cpus.len()),
            _ => i64::try_from(share.memory.0).unwrap_or(0),
        }
    }

    /// The least pieces that a job takes up where it is.
    fn pieces_held_by_job(&self, model: &Model, owner: Owner) -> i64 {
        let job = &model.jobs[owner];
        let held = job.held.iter();
        let held = held.filter(|(place, _)| self.counts_node_kind(model, model.nodes[*place].kind));
        let of = |share: &Share| match (self.of, share.gpu_milli) {
            // Parts of GPUs may share one.
            (WHOLE_GPUS, Some(_)) => 0,
            _ => self.pieces_kept_by_share(share) / self.size,
        };
        held.map(|(_, share)| of(share)).sum()
    }

    fn count(&self, room: i64, needed: i64) -> Count {
        let of = [Counted::GpuMilli, Counted::WholeGpus, Counted::Cpus, Counted::Memory][self.of];
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let (size, room, needed) = (count(self.size), count(room), count(needed));
        Count { of, size, room, needed, suiting: self.suiting }
    }
}

/// The first count that leaves some job without room, whatever moves.
pub(super) fn first_impossible_count(model: &Model, lifted: &[Node]) -> Option<Count> {
    let measures = Measure::all(model);
    measures.into_iter().find_map(|measure| {
        let room: i64 = lifted.iter().map(|node| measure.room(model, node)).sum();
        let of = |owner| {
            let stays = measure.pieces_held_by_job(model, owner);
            stays.min(measure.pieces_of_job(model, owner))
        };
        let movers: i64 = (1..model.jobs.len()).map(of).sum();
        let needed = movers + measure.pieces_of_job(model, 0);
        (room < needed).then(|| measure.count(room, needed))
    })
}
