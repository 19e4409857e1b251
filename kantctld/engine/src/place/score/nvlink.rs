//! Which GPUs of a node a job gets: those that are linked best to each other.
//!
//! Source: Kant (arXiv 2510.01256) 3.3.5 names the aim and gives no rule; the link types and their
//! order are those of `nvidia-smi topo -m`.
//! Reads: free GPUs, the matrix of paths, NUMA nodes.
//! Knobs: none.
//!
//! In this order: the most NVLinks inside the set; the nearest PCIe paths inside it; the most
//! NVLinks inside what is left free; the fewest NUMA nodes; the most pairs left on one NUMA node;
//! the lowest numbers. Up to [`TRIED_MAX`] free GPUs, all sets are tried. Beyond that, a set is
//! grown from each GPU in turn by adding its best neighbour.
//!
//! Example. Four GPUs, two NVLinks between 0 and 1 and between 2 and 3, none across. Job 1 asks for
//! two: 0,1. Job 2 asks for one: 2. Job 3 asks for one: 3. Had there been another free pair, job 3
//! would not have split it.

use crate::model::cluster::class::{Class, bits};
use common::gpu::GpuPath;
use common::id::GpuIndex;
use common::node::Inventory;
use common::resource::GpuList;

/// All sets are tried for at most this many free GPUs: at most 12,870 sets (8 of 16).
pub(crate) const TRIED_MAX: usize = 16;

/// Chooses `count` of the free GPUs, by their positions; all of them if there are no more. The
/// result is ascending.
pub(crate) fn choose(class: &Class, free: u128, count: usize) -> GpuList {
    let gpus = bits(free).filter_map(|at| class.gpu(at));
    // If all GPUs are equivalent, take the lowest numbers, which the search below would find, too.
    if count == 0 || free.count_ones() as usize <= count || class.gpus_are_equal {
        return gpus.take(count).collect();
    }
    let free: Vec<GpuIndex> = gpus.collect();
    let inventory = &class.inventory;
    let links = Links::of(inventory, &free);
    let chosen = match free.len() {
        0..=TRIED_MAX => links.best_by_trying_all(count),
        _ => links.best_grown(count),
    };
    chosen.into_iter().map(|position| free[position]).collect()
}

/// The merit of a set of GPUs; higher is better. Fields are in the order of the rules.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Merit {
    nvlinks: u32,
    nearness: u32,
    nvlinks_left: u32,
    numa_nodes: std::cmp::Reverse<usize>,
    numa_pairs_left: u32,
}

/// How two free GPUs are connected.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    nvlinks: u32,
    nearness: u32,
    same_numa: bool,
}

/// The free GPUs of a node by position, and every pair of them.
struct Links {
    numa: Vec<Option<u16>>,
    pairs: Vec<Vec<Pair>>,
}

impl Links {
    fn of(inventory: &Inventory, free: &[GpuIndex]) -> Self {
        let numa_of = |index: &GpuIndex| {
            inventory.gpus.iter().find(|gpu| gpu.index == *index).and_then(|gpu| gpu.numa)
        };
        let numa: Vec<Option<u16>> = free.iter().map(numa_of).collect();
        let pair = |a: usize, b: usize| {
            let path = inventory.gpu_matrix.path(free[a], free[b]);
            let nvlinks = if let GpuPath::NvLink(links) = path { u32::from(links) } else { 0 };
            Pair { nvlinks, nearness: nearness(path), same_numa: numa[a] == numa[b] }
        };
        let all = 0..free.len();
        let pairs = all.clone().map(|a| all.clone().map(|b| pair(a, b)).collect()).collect();
        Self { numa, pairs }
    }

    /// Tries every set. Among equals, the one with the lowest numbers wins.
    fn best_by_trying_all(&self, count: usize) -> Vec<usize> {
        let mut best: Option<(Merit, Vec<usize>)> = None;
        let mut chosen: Vec<usize> = (0..count).collect();
        loop {
            let merit = self.merit(&chosen);
            if best.as_ref().is_none_or(|(highest, _)| merit > *highest) {
                best = Some((merit, chosen.clone()));
            }
            if !next_set(&mut chosen, self.numa.len()) {
                return best.map(|(_, chosen)| chosen).unwrap_or_default();
            }
        }
    }

    /// Grows a set from each GPU, and takes the best of them.
    fn best_grown(&self, count: usize) -> Vec<usize> {
        let grown = (0..self.numa.len()).map(|first| {
            let mut chosen = vec![first];
            while chosen.len() < count {
                let others = (0..self.numa.len()).filter(|other| !chosen.contains(other));
                let drawn = |other: &usize| {
                    let to = |of: fn(&Pair) -> u32| -> u32 {
                        chosen.iter().map(|one| of(&self.pairs[*one][*other])).sum()
                    };
                    (to(|pair| pair.nvlinks), to(|pair| pair.nearness), std::cmp::Reverse(*other))
                };
                chosen.extend(others.max_by_key(drawn));
            }
            chosen.sort_unstable();
            (self.merit(&chosen), std::cmp::Reverse(chosen))
        });
        grown.max().map(|(_, std::cmp::Reverse(chosen))| chosen).unwrap_or_default()
    }

    fn merit(&self, chosen: &[usize]) -> Merit {
        let left: Vec<usize> = (0..self.numa.len()).filter(|i| !chosen.contains(i)).collect();
        let mut numa: Vec<Option<u16>> = chosen.iter().map(|i| self.numa[*i]).collect();
        numa.sort_unstable();
        numa.dedup();
        Merit {
            nvlinks: self.sum(chosen, |pair| pair.nvlinks),
            nearness: self.sum(chosen, |pair| pair.nearness),
            nvlinks_left: self.sum(&left, |pair| pair.nvlinks),
            numa_nodes: std::cmp::Reverse(numa.len()),
            numa_pairs_left: self.sum(&left, |pair| u32::from(pair.same_numa)),
        }
    }

    fn sum(&self, set: &[usize], of: impl Fn(&Pair) -> u32) -> u32 {
        let pairs = set
            .iter()
            .enumerate()
            .flat_map(|(i, a)| set[i + 1..].iter().map(move |b| &self.pairs[*a][*b]));
        pairs.map(of).sum()
    }
}

const fn nearness(path: GpuPath) -> u32 {
    match path {
        GpuPath::Own | GpuPath::NvLink(_) => 5,
        GpuPath::Pix => 4,
        GpuPath::Pxb => 3,
        GpuPath::Phb => 2,
        GpuPath::Node => 1,
        GpuPath::Sys => 0,
    }
}

/// Advances to the next ascending choice out of `0..total` in lexicographic order. Returns `false`
/// after the last.
fn next_set(chosen: &mut [usize], total: usize) -> bool {
    let count = chosen.len();
    let Some(at) = (0..count).rev().find(|i| chosen[*i] < total - count + i) else {
        return false;
    };
    chosen[at] += 1;
    for i in at + 1..count {
        chosen[i] = chosen[i - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests;
