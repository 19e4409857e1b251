//! Binpack: the node with the fewest free GPUs goes first, so that the other nodes stay as free as
//! possible.
//!
//! Source: D. Johnson, "Near-optimal bin packing algorithms" (1973), best fit; man slurm.conf,
//! pack_serial_at_end for the aim.
//! Reads: thousandths of GPUs free on the node. Not leafs or CPUs.
//! Knobs: none.
//!
//! Example. Node a has 8 free GPUs of 8, node b has 3 of 8. Job 1 asks for 2: b. Job 2 asks for 1:
//! b. Job 3 asks for 8: a, which is still free.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::group::GroupIndex;
use crate::model::cluster::tally::Takes;
use crate::place::node_search::NodeSearch;
use crate::place::score::Key;

pub(crate) fn key(search: &NodeSearch<'_>, at: NodeIndex) -> Key {
    [search.trial.free(at).milli_sum().into(), 0, 0, 0, 0]
}

pub(crate) fn bound(search: &NodeSearch<'_>, group: GroupIndex, takes: Takes) -> Key {
    let sums = search.sums(group);
    let broken = sums.tightest_partly_used(takes.resources.gpus.0);
    let tightest = broken.into_iter().chain(sums.tightest_idle(takes.resources.gpus.0)).min();
    [tightest.map_or(u64::MAX, |gpus| u64::from(gpus) * 1000), 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use crate::testing::{
        gpu_node, gpu_request, placed, set_placement_policy, snapshot, use_gpus, waiting,
    };
    use common::policy::Placement;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        set_placement_policy(&mut snapshot, Placement::Binpack);
        use_gpus(&mut snapshot, "b", 5);
        for (job, gpus) in [(1, 2), (2, 1), (3, 8)] {
            snapshot.set_waiting(waiting(job, gpu_request(gpus), 10));
        }
        assert_eq!(placed(&snapshot), ["1 b:5-6", "2 b:7", "3 a:0-7"]);
    }
}
