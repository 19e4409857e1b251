//! Spread: the node with the most free GPUs goes first. Jobs disturb each other least, but large
//! jobs soon find no whole node.
//!
//! Source: man slurm.conf, CR_LLN (least loaded node).
//! Reads: thousandths of GPUs free on the node; for jobs without GPUs, its CPUs. Not leafs.
//! Knobs: none.
//!
//! Example. Nodes a and b, 8 free GPUs each. Job 1 asks for 2: a. Job 2 asks for 2: b. Job 3 asks
//! for 1: a again.

use crate::model::cluster::NodeIndex;
use crate::place::node_search::NodeSearch;
use crate::place::score::Key;

pub(crate) fn key(search: &NodeSearch<'_>, at: NodeIndex) -> Key {
    [u64::from(u32::MAX - search.trial.free(at).milli_sum()), 0, 0, 0, 0]
}

pub(crate) fn cpu_key(search: &NodeSearch<'_>, at: NodeIndex) -> Key {
    [u64::from(u32::MAX - search.trial.free(at).core_cpus.0), 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use crate::testing::{gpu_node, gpu_request, placed, set_placement_policy, snapshot, waiting};
    use common::policy::Placement;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        set_placement_policy(&mut snapshot, Placement::Spread);
        for (job, gpus) in [(1, 2), (2, 2), (3, 1)] {
            snapshot.set_waiting(waiting(job, gpu_request(gpus), 10));
        }
        assert_eq!(placed(&snapshot), ["1 a:0-1", "2 b:0-1", "3 a:2"]);
    }
}
