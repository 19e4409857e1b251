//! What is in use on every node during a replay, counted separately from the engine: the metrics
//! must not depend on the numbers on which decisions are based. Only the formulas are shared.

use crate::report::{NodeIndex, Sample};
use common::resource::Share;
use common::time::Time;
use common::unit::{GpuMilli, Gpus, Nodes};
use engine::measure::{is_partly_used, unusable_free_gpus};
use std::collections::BTreeMap;
use trace::Node;

/// GPUs of one node that a job of 8 needs.
const EIGHT: Gpus = Gpus(8);

#[derive(Debug, Clone, Default)]
struct Use {
    /// Thousandths in use of each GPU.
    milli: Vec<u32>,
    /// Jobs that hold something.
    jobs: u32,
    leaf: Option<usize>,
    /// What follows from those.
    figures: Figures,
}

impl Use {
    fn idle(gpus: Gpus, leaf: Option<usize>) -> Self {
        let milli = vec![0; gpus.0 as usize];
        let mut idle = Self { milli, leaf, ..Self::default() };
        idle.figures = idle.count();
        idle
    }

    fn total(&self) -> u32 {
        1000 * u32::try_from(self.milli.len()).unwrap_or(0)
    }

    fn count(&self) -> Figures {
        let (used, total) = (self.milli.iter().sum(), self.total());
        let whole = self.milli.iter().filter(|used| **used == 0).count();
        let whole = Gpus(u32::try_from(whole).unwrap_or(0));
        Figures {
            used,
            useless_to_8: unusable_free_gpus(EIGHT, GpuMilli(total - used), whole).0,
            is_broken: is_partly_used(GpuMilli(used), GpuMilli(total)),
            is_idle: self.jobs == 0,
            has_gpus: !self.milli.is_empty(),
        }
    }
}

/// What the sums count of a node.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    used: u32,
    /// Free thousandths that jobs of 8 whole GPUs could not use.
    useless_to_8: u32,
    is_broken: bool,
    is_idle: bool,
    has_gpus: bool,
}

/// All nodes, with sums.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    nodes: Vec<Use>,
    /// The number of nodes in use of each leaf.
    leaves: Vec<u32>,
    sums: Sample,
}

impl Tally {
    pub fn of(nodes: &[Node]) -> Self {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut tally = Self::default();
        for node in nodes {
            let next = names.len();
            let leaf = node.leaf.as_deref().map(|leaf| *names.entry(leaf).or_insert(next));
            tally.nodes.push(Use::idle(node.gpus, leaf));
        }
        tally.leaves = vec![0; names.len()];
        let sums = &mut tally.sums;
        for node in tally.nodes.iter().filter(|node| node.total() > 0) {
            sums.total += GpuMilli(node.total());
            sums.free += GpuMilli(node.total());
            sums.free_unusable_by_8 += GpuMilli(node.figures.useless_to_8);
            sums.nodes_with_gpus += Nodes(1);
            sums.nodes_whole_free += Nodes(1);
        }
        sums.leaf_groups_whole_free = u32::try_from(names.len()).unwrap_or(u32::MAX);
        tally
    }

    /// A job takes its share of a node. Returns how much of its GPUs that is.
    pub fn add_share(&mut self, node: NodeIndex, share: &Share) -> GpuMilli {
        self.change(node, share, |used, each| used + each, |jobs| jobs + 1)
    }

    /// A job gives its share back.
    pub fn remove_share(&mut self, node: NodeIndex, share: &Share) -> GpuMilli {
        let less = |used: u32, each: u32| used.saturating_sub(each);
        self.change(node, share, less, |jobs: u32| jobs.saturating_sub(1))
    }

    fn change(
        &mut self,
        node: NodeIndex,
        share: &Share,
        gpu: impl Fn(u32, u32) -> u32,
        jobs: impl Fn(u32) -> u32,
    ) -> GpuMilli {
        let Some(one) = self.nodes.get_mut(node.0 as usize) else { return GpuMilli::ZERO };
        let before = one.figures;
        let each = share.gpu_milli.unwrap_or(GpuMilli::WHOLE).0;
        for index in &share.gpus {
            if let Some(used) = one.milli.get_mut(usize::from(index.0)) {
                *used = gpu(*used, each);
            }
        }
        one.jobs = jobs(one.jobs);
        one.figures = one.count();
        let (after, leaf) = (one.figures, one.leaf);
        self.update_sums(before, after, leaf);
        share.gpus_milli()
    }

    fn update_sums(&mut self, before: Figures, after: Figures, leaf: Option<usize>) {
        let sums = &mut self.sums;
        let moved = |sum: GpuMilli, less: u32, more: u32| GpuMilli(sum.0 + more - less);
        sums.allocated = moved(sums.allocated, before.used, after.used);
        sums.free = moved(sums.free, after.used, before.used);
        sums.free_unusable_by_8 =
            moved(sums.free_unusable_by_8, before.useless_to_8, after.useless_to_8);
        let flips = |sum: u32, was: bool, is: bool| sum + u32::from(is) - u32::from(was);
        sums.nodes_broken.0 = flips(sums.nodes_broken.0, before.is_broken, after.is_broken);
        if after.has_gpus {
            sums.nodes_whole_free.0 = flips(sums.nodes_whole_free.0, before.is_idle, after.is_idle);
        }
        let Some(in_use) = leaf.and_then(|leaf| self.leaves.get_mut(leaf)) else { return };
        let leaf_was_idle = *in_use == 0;
        *in_use = flips(*in_use, !before.is_idle, !after.is_idle);
        sums.leaf_groups_whole_free =
            flips(sums.leaf_groups_whole_free, leaf_was_idle, *in_use == 0);
    }

    /// The cluster now, with this many waiting jobs.
    pub const fn sample(&self, at: Time, queue_length: u32) -> Sample {
        Sample { at, queue_length, ..self.sums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::id::{GpuIndex, NodeName};
    use common::unit::{Bytes, Tasks};
    use trace::read_nodes;

    fn share(gpus: &[u16], milli: Option<u32>) -> Share {
        Share {
            node: NodeName::new("a").unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first_n(1),
            memory: Bytes::ZERO,
            gpus: gpus.iter().map(|index| GpuIndex(*index)).collect(),
            gpu_milli: milli.map(GpuMilli),
        }
    }

    #[test]
    fn sums_follow_what_jobs_take_and_give_back() {
        let nodes = read_nodes("n", b"name,gpus,leaf\na,8,l\nb,8,l\nc,0,m\n").unwrap();
        let mut tally = Tally::of(&nodes);
        let idle = tally.sample(Time(0), 0);
        assert_eq!((idle.total, idle.leaf_groups_whole_free), (GpuMilli(16_000), 2));
        assert_eq!(idle.free_unusable_by_8, GpuMilli::ZERO);
        let (half, three) = (share(&[0], Some(500)), share(&[1, 2, 3], None));
        assert_eq!(tally.add_share(NodeIndex(0), &half), GpuMilli(500));
        assert_eq!(tally.add_share(NodeIndex(0), &three), GpuMilli(3000));
        tally.add_share(NodeIndex(2), &share(&[], None));
        let busy = tally.sample(Time(1), 4);
        assert_eq!((busy.allocated, busy.free), (GpuMilli(3500), GpuMilli(12_500)));
        assert_eq!(busy.free_unusable_by_8, GpuMilli(4500));
        assert_eq!((busy.nodes_broken, busy.nodes_whole_free), (Nodes(1), Nodes(1)));
        assert_eq!((busy.leaf_groups_whole_free, busy.queue_length), (0, 4));
        tally.remove_share(NodeIndex(0), &three);
        tally.remove_share(NodeIndex(0), &half);
        tally.remove_share(NodeIndex(2), &share(&[], None));
        assert_eq!(tally.sample(Time(0), 0), idle);
    }
}
