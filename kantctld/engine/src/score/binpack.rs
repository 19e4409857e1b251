//! Small jobs go where they break nothing: the node that is left with the least.
//!
//! Source: Kant (arXiv 2510.01256) page 9, E-Binpack, on the level of nodes; the paper gives no
//! formula, the ranking here is a reconstruction.
//! Reads: what the node has, what is free there, what the job takes. Never: whether it fits.
//! Knobs: the table in `weights`.
//!
//! A node that nobody uses is never opened while a used one fits; then the least free GPUs
//! afterwards, then the least CPUs, then the least memory. Jobs without GPUs keep away from free
//! GPUs.
//!
//! Example. Node a has 8 free GPUs of 8, node b has 3 of 8. Job 1 asks for 2: b, which leaves 1.
//! Job 2 asks for 1: b. Job 3 asks for 8: a, still whole.

use crate::fit::demand::Amounts;
use crate::free::Free;
use crate::score::weights::{
    COUNT_MAX, CPU_LEFT, FREE_GPUS_PASSED_BY, GIB_LEFT, GPU_LEFT, GPU_NODE_FOR_CPU_JOB,
    WHOLE_NODE_OPENED,
};
use common::node::Inventory;
use common::unit::{Cpus, Gpus};

/// How bad it is to put this much on this node; lower is better.
pub(crate) fn penalty(inventory: &Inventory, free: &Free, takes: Amounts) -> u64 {
    let has_gpus = !inventory.gpus.is_empty();
    let is_whole = if has_gpus {
        free.gpus.len() == inventory.gpus.len()
    } else {
        free.cpus == inventory.cpus
    };
    let needs_none = takes.gpus == Gpus::ZERO;
    let free_gpus = u32::try_from(free.gpus.len()).unwrap_or(u32::MAX);
    let gpus_left = Gpus(free_gpus) - takes.gpus;
    let cpus_left = Cpus(free.cpus.len()) - takes.cpus;
    let memory_left = free.memory - takes.memory;
    let count = |amount: u64| amount.min(COUNT_MAX);

    FREE_GPUS_PASSED_BY * u64::from(needs_none && !free.gpus.is_empty())
        + WHOLE_NODE_OPENED * u64::from(is_whole)
        + GPU_NODE_FOR_CPU_JOB * u64::from(needs_none && has_gpus)
        + GPU_LEFT * count(gpus_left.0.into())
        + CPU_LEFT * count(cpus_left.0.into())
        + GIB_LEFT * count(memory_left.0 >> 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, gpu_node, used};
    use common::unit::Bytes;

    /// The node that is best for this many GPUs and one CPU.
    fn best(nodes: &[crate::NodeSnapshot], gpus: u32) -> &str {
        let takes = Amounts { cpus: Cpus(1), memory: Bytes(1 << 30), gpus: Gpus(gpus) };
        let fits = nodes.iter().filter(|n| n.free_gpus.len() >= gpus as usize);
        let best = fits.min_by_key(|n| penalty(&n.inventory, &Free::of(n), takes));
        best.unwrap().name.as_str()
    }

    #[test]
    fn the_example() {
        let a = gpu_node("a", 8);
        let b = used(gpu_node("b", 8), 5);
        assert_eq!(best(&[a.clone(), b], 2), "b");
        let b = used(gpu_node("b", 8), 7);
        assert_eq!(best(&[a.clone(), b], 1), "b");
        let b = used(gpu_node("b", 8), 8);
        assert_eq!(best(&[a, b], 8), "a");
    }

    #[test]
    fn a_whole_node_stays_whole_though_it_is_the_tighter_one() {
        assert_eq!(best(&[gpu_node("a", 4), used(gpu_node("b", 8), 2)], 2), "b");
    }

    #[test]
    fn gpus_left_count_before_cpus_and_cpus_before_memory() {
        let mut many_cpus = used(gpu_node("many-cpus", 8), 6);
        many_cpus.free_cpus = many_cpus.inventory.cpus.clone();
        assert_eq!(best(&[used(gpu_node("few-cpus", 8), 5), many_cpus], 2), "many-cpus");

        let mut little = used(cpu_node("little", 8), 2);
        little.free_memory = Bytes(2 << 30);
        assert_eq!(best(&[used(cpu_node("much", 8), 2), little.clone()], 0), "little");
        assert_eq!(best(&[little, used(cpu_node("tight", 8), 3)], 0), "tight");
    }

    #[test]
    fn jobs_without_gpus_keep_away_from_free_gpus() {
        let (whole, broken) = (gpu_node("whole", 8), used(gpu_node("broken", 8), 3));
        let (busy, plain) = (used(gpu_node("busy", 8), 8), used(cpu_node("plain", 64), 1));
        let all = [whole, broken, busy, plain];
        assert_eq!(best(&all, 0), "plain");
        assert_eq!(best(&all[..3], 0), "busy");
        assert_eq!(best(&all[..2], 0), "broken");
    }
}
