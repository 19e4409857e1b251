//! What typical jobs cannot use of a node, precomputed for each class of node. Shapes that ask a
//! node for the same GPUs are merged, and those that never run there are one sum.
//!
//! Source: ours. A search asks thousands of nodes for each job; hundreds of shapes reduce to a few
//! that differ in what they ask of GPUs. Integers make equal drops compare as equal.

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::class::Class;
use crate::model::typical::Typical;
use common::unit::{Bytes, Cpus};
use std::collections::BTreeMap;
use std::sync::Arc;

/// CPUs, memory, and how many jobs ask for them.
type Size = (Cpus, Bytes, i64);

/// The yardsticks of all classes of nodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Yardsticks {
    typical: Vec<Typical>,
    /// How many jobs the typical shapes stand for.
    pub jobs: i64,
    by_class: Vec<(Arc<Class>, Yardstick)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Yardstick {
    /// Jobs that can use none of its GPUs, whatever is free.
    pub useless: i64,
    pub asks: Vec<Ask>,
}

/// Shapes that ask for the same GPUs of a node.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// The positions of the GPUs that they accept.
    pub accepted: u128,
    pub milli: u16,
    pub gpus: u32,
    /// How many jobs they stand for.
    pub jobs: i64,
    sizes: Vec<Size>,
}

impl Yardsticks {
    /// Computes the yardsticks of these shapes for all nodes.
    pub fn of(cluster: &ClusterIndex, typical: Vec<Typical>) -> Self {
        let mut classes: BTreeMap<*const Class, &Arc<Class>> = BTreeMap::new();
        for (_, node) in cluster.nodes() {
            classes.entry(Arc::as_ptr(&node.class)).or_insert(&node.class);
        }
        let of = |class: &Arc<Class>| (class.clone(), Yardstick::of(class, &typical));
        let by_class = classes.into_values().map(of).collect();
        let jobs = typical.iter().map(|one| i64::from(one.jobs)).sum();
        Self { jobs, by_class, typical }
    }

    /// Computes them again after nodes changed.
    pub fn recomputed(&self, cluster: &ClusterIndex) -> Self {
        Self::of(cluster, self.typical.clone())
    }

    /// The yardstick of a class of nodes. `None` if there is none for it.
    pub fn get(&self, class: &Arc<Class>) -> Option<&Yardstick> {
        let place = self
            .by_class
            .binary_search_by_key(&Arc::as_ptr(class), |(known, _)| Arc::as_ptr(known))
            .ok()?;
        Some(&self.by_class[place].1)
    }
}

impl Yardstick {
    pub fn of(class: &Class, typical: &[Typical]) -> Self {
        let mut yardstick = Self::default();
        let mut asks: BTreeMap<(u128, u16, u32), Vec<Size>> = BTreeMap::new();
        for one in typical {
            let kinds = one.kinds.as_ref();
            let accepted = kinds
                .map_or_else(|| class.positions_without_kind(), |kinds| class.positions(kinds));
            let jobs = i64::from(one.jobs);
            let has_them = (accepted & positions(class)).count_ones() >= one.gpus;
            if one.gpus == 0 || !has_them {
                yardstick.useless += jobs;
                continue;
            }
            let sizes = asks.entry((accepted, one.milli, one.gpus)).or_default();
            sizes.push((one.cpus, one.memory, jobs));
        }
        let ask = |((accepted, milli, gpus), mut sizes): (_, Vec<Size>)| {
            sizes.sort_unstable();
            let jobs = sizes.iter().map(|(.., jobs)| jobs).sum();
            Ask { accepted, milli, gpus, jobs, sizes }
        };
        yardstick.asks = asks.into_iter().map(ask).collect();
        yardstick
    }
}

impl Ask {
    /// How many of the jobs find enough CPUs and memory.
    pub fn fitting(&self, cpus: Cpus, memory: Bytes) -> i64 {
        let enough = self.sizes.iter().take_while(|(least, ..)| *least <= cpus);
        enough.filter(|(_, least, _)| *least <= memory).map(|(.., jobs)| jobs).sum()
    }
}

/// The positions of all GPUs of the class.
fn positions(class: &Class) -> u128 {
    let gpus = class.gpu_count().0;
    1_u128.checked_shl(gpus).map_or(u128::MAX, |end| end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gpu_node;
    use common::gpu::GpuKind;

    #[test]
    fn shapes_that_ask_for_the_same_gpus_are_one_whatever_cpus_they_ask_for() {
        let class = Class::of(&gpu_node("a", 8).inventory);
        let shape = |at: u32| Typical {
            cpus: Cpus(at),
            kinds: (at % 2 == 1).then(|| vec![GpuKind("none-here".to_owned())]),
            ..Typical::share(500)
        };
        let typical: Vec<Typical> = (1..=400).map(shape).collect();
        let yardstick = Yardstick::of(&class, &typical);
        assert_eq!((yardstick.asks.len(), yardstick.useless), (1, 200));
        assert_eq!(yardstick.asks[0].fitting(Cpus(10), Bytes(0)), 5);
    }
}
