//! E-Binpack: small jobs go to nodes and leaf groups that are already in use, so that others stay
//! whole.
//!
//! Source: Kant (arXiv 2510.01256) page 9; the paper gives no formula, the order of the rules is a
//! reconstruction. For jobs of many nodes see `fit::gang`.
//! Reads: free GPUs of the node, and of all nodes under its leaf.
//! Knobs: none.
//!
//! In this order: a node in use before an idle one; under a leaf in use before under an idle one;
//! the fewest GPUs left on the node; the fewest left under the leaf; the fewest CPUs left on the
//! node.
//!
//! Example. Leaf l has nodes a and b, leaf m has node c, 8 GPUs each; b has 3 free, the others 8.
//! Job 1 asks for 2: b. Job 2 asks for 4: a, whose leaf is already in use. Job 3 asks for 8: c.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::group::GroupIndex;
use crate::model::cluster::tally::Takes;
use crate::place::score::{Key, Scorer};
use common::unit::GpuMilli;

pub(crate) fn key(scorer: &Scorer<'_>, at: NodeIndex, takes: Takes) -> Key {
    let free = scorer.search.trial.free(at);
    let leaf = scorer.leafs().of_group(scorer.search, scorer.search.cluster().node(at).group);
    let opens = free.is_idle();
    let takes_milli =
        GpuMilli::WHOLE.times(takes.resources.gpus.0) + takes.milli.times(takes.shared.0);
    let left = free.milli_sum().saturating_sub(takes_milli.0);
    let cpus_left = free.core_cpus - takes.resources.cpus;
    [
        u64::from(opens),
        u64::from(opens && leaf.is_some_and(super::leafs::Leaf::is_whole)),
        left.into(),
        leaf.map_or(0, |leaf| leaf.milli_free().into()),
        cpus_left.0.into(),
    ]
}

pub(crate) fn bound(scorer: &Scorer<'_>, group: GroupIndex, takes: Takes) -> Key {
    let sums = scorer.search.sums(group);
    let leaf = scorer.leafs().of_group(scorer.search, group);
    let free = leaf.map_or(0, |leaf| leaf.milli_free().into());
    let left = |gpus: u32| u64::from(gpus - takes.resources.gpus.0) * 1000;
    if let Some(gpus) = sums.tightest_partly_used(takes.resources.gpus.0) {
        [0, 0, left(gpus), free, 0]
    } else if let Some(gpus) = sums.tightest_idle(takes.resources.gpus.0) {
        [1, leaf.is_some_and(super::leafs::Leaf::is_whole).into(), left(gpus), free, 0]
    } else {
        [u64::MAX; 5]
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{
        gpu_node, gpu_request, placed, set_leaf_groups, snapshot, use_gpus, waiting,
    };

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(["a", "b", "c"].map(|name| gpu_node(name, 8)).to_vec());
        set_leaf_groups(&mut snapshot, &[("l", "a b"), ("m", "c")]);
        use_gpus(&mut snapshot, "b", 5);
        for (job, gpus) in [(1, 2), (2, 4), (3, 8)] {
            snapshot.set_waiting(waiting(job, gpu_request(gpus), 10));
        }
        assert_eq!(placed(&snapshot), ["1 b:5-6", "2 a:0-3", "3 c:0-7"]);
    }

    #[test]
    fn a_whole_node_stays_whole_though_it_is_the_tighter_one() {
        let mut snapshot = snapshot(vec![gpu_node("a", 4), gpu_node("b", 8)]);
        use_gpus(&mut snapshot, "b", 2);
        snapshot.set_waiting(waiting(1, gpu_request(2), 10));
        assert_eq!(placed(&snapshot), ["1 b:2-3"]);
    }
}
