//! The total capacity of nodes, from the number of nodes of each class.

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::class::Class;
use crate::model::cluster::node::Node;
use crate::model::node_snapshot::Unusable;
use common::policy::Amounts;
use common::unit::{Bytes, Cpus, Gpus};

impl ClusterIndex {
    /// The total of the nodes that are not down, for quotas.
    pub fn capacity(&self) -> Amounts {
        let up = self.nodes.iter().filter(|node| node.unusable != Some(Unusable::Down));
        total_of_classes(runs_of_a_class(up))
    }

    /// The total of all nodes, down or not. It is read at every submission, so its cost does not
    /// depend on the number of nodes.
    pub fn capacity_of_all(&self) -> Amounts {
        total_of_classes(self.class_sizes.iter().map(|(class, count)| (&**class, *count)))
    }
}

/// Runs of consecutive nodes of one class: their number and class. Neighbours are mostly of the
/// same class.
pub(super) fn runs_of_a_class<'n>(nodes: impl Iterator<Item = &'n Node>) -> Vec<(&'n Class, u32)> {
    let mut runs: Vec<(&Class, u32)> = Vec::new();
    for node in nodes {
        match runs.last_mut() {
            Some((class, count)) if std::ptr::eq(*class, &*node.class) => *count += 1,
            _ => runs.push((&node.class, 1)),
        }
    }
    runs
}

/// The sum over all of them.
pub(super) fn total_of_classes<'n>(sizes: impl IntoIterator<Item = (&'n Class, u32)>) -> Amounts {
    let mut sum = Amounts::default();
    let (mut cpus, mut memory, mut all) = (Cpus::ZERO, Bytes::ZERO, Gpus::ZERO);
    for (class, count) in sizes {
        cpus += class.core_cpus.times(count);
        memory += class.inventory.memory.times(count);
        for (kind, mask) in class.kinds() {
            let gpus = Gpus(mask.count_ones()).times(count);
            all += gpus;
            *sum.gpus.entry(kind.clone()).or_default() += gpus;
        }
    }
    sum.gpus_any = Some(all);
    sum.cpus = Some(cpus);
    sum.memory = Some(memory);
    sum
}
