//! Placement of jobs without GPUs: away from free GPUs, and packed.
//!
//! Source: ours; man slurm.conf, MaxCPUsPerNode and nodes' Weight serve the same aim in Slurm.
//! Reads: free GPUs, CPUs and memory of the node. Not leafs.
//! Knobs: none.
//!
//! In this order: nodes without free GPUs; nodes in use; nodes without any GPU; the fewest CPUs
//! left; the least memory left.
//!
//! Example. Node a has GPUs, all free; node b has none. Job 1 asks for 1 CPU: b. Job 2 asks for 16
//! CPUs, more than b has left: a. Job 3 asks for 1 CPU: b.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::tally::Takes;
use crate::place::node_search::NodeSearch;
use crate::place::score::Key;

pub(crate) fn key(search: &NodeSearch<'_>, at: NodeIndex, takes: Takes) -> Key {
    let free = search.trial.free(at);
    let cpus_left = free.core_cpus - takes.resources.cpus;
    let memory_left = free.memory - takes.resources.memory;
    [
        u64::from(free.gpus != 0) * 2 + u64::from(free.is_idle()),
        u64::from(free.gpu_milli_capacity() > 0),
        cpus_left.0.into(),
        memory_left.0 >> 30,
        0,
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::{cpu_node, gpu_node, placed, request, snapshot, waiting};

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), cpu_node("b", 8)]);
        for (job, cpus) in [(1, 1), (2, 16), (3, 1)] {
            snapshot.set_waiting(waiting(job, request(1, cpus), 10));
        }
        assert_eq!(placed(&snapshot), ["1 b", "2 a", "3 b"]);
    }
}
