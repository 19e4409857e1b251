//! Which CPUs of a node a job gets: whole free cores, nearest to its GPUs.
//!
//! Source: man slurm.conf, SelectTypeParameters CR_Core; man gres.conf, Cores.
//! Reads: free CPUs, cores, NUMA nodes, the CPUs near each GPU. A core is never split.
//! Knobs: none.
//!
//! The GPUs take turns. Each takes the lowest free core near it, or of its own NUMA node if nothing
//! nearer is known, so the CPUs follow the GPUs over NUMA nodes. The remaining cores, or all of
//! them for a job without GPUs, come from as few NUMA nodes as possible: the fullest one that has
//! enough, otherwise the emptiest first.
//!
//! Example. Cores 0-3 are NUMA node 0 with GPU 0, cores 4-7 NUMA node 1 with GPU 1. Job 1 gets GPU
//! 1 and 2 CPUs: 4,5. Job 2 gets both GPUs and 4 CPUs: 0,1 and then 6,7. Job 3 has no GPU and 2
//! CPUs: 2,3, the only free ones.

use crate::model::cluster::class::Class;
use common::cpuset::CpuSet;
use common::gpu::Gpu;
use common::id::GpuIndex;
use common::node::Inventory;
use common::unit::Cpus;

/// Chooses whole free cores with at least `count` CPUs, or all of them if there are fewer.
pub(crate) fn choose(class: &Class, free: &CpuSet, count: Cpus, gpus: &[GpuIndex]) -> CpuSet {
    if class.cpus_are_equal {
        return free.iter().take(count.0 as usize).collect();
    }
    let inventory = &class.inventory;
    let is_free = |core: &&CpuSet| !core.is_empty() && core.is_subset(free);
    let mut cores: Vec<&CpuSet> = inventory.cores.iter().filter(is_free).collect();
    cores.sort_by_key(|core| core.iter().next());
    let mut pick = Pick { cores, chosen: CpuSet::new(), count };

    let gpus = inventory.gpus.iter().filter(|gpu| gpus.contains(&gpu.index));
    let near: Vec<CpuSet> = gpus.map(|gpu| cpus_near(inventory, gpu)).collect();
    let mut found = true;
    while found {
        found = near.iter().filter(|cpus| pick.take_core_on(cpus)).count() > 0;
    }

    let mut numa: Vec<&CpuSet> = inventory.numa.iter().map(|numa| &numa.cpus).collect();
    while !pick.is_done() && !numa.is_empty() {
        let missing = pick.missing();
        let best = (0..numa.len()).min_by_key(|i| {
            let free = pick.free_on(numa[*i]);
            let enough = free >= missing;
            (!enough, if enough { free.0 } else { u32::MAX - free.0 }, *i)
        });
        let cpus = numa.remove(best.unwrap_or(0));
        while pick.take_core_on(cpus) {}
    }
    while pick.take_core_on(free) {}
    pick.chosen
}

/// The CPUs near a GPU: those that the driver reports, otherwise those of its NUMA node, otherwise
/// none.
fn cpus_near(inventory: &Inventory, gpu: &Gpu) -> CpuSet {
    if !gpu.cpus.is_empty() {
        return gpu.cpus.clone();
    }
    let numa = inventory.numa.iter().find(|numa| Some(numa.id) == gpu.numa);
    numa.map(|numa| numa.cpus.clone()).unwrap_or_default()
}

/// A choice in progress.
struct Pick<'a> {
    /// Free cores not yet chosen, lowest first.
    cores: Vec<&'a CpuSet>,
    chosen: CpuSet,
    count: Cpus,
}

impl Pick<'_> {
    fn is_done(&self) -> bool {
        self.chosen.len() >= self.count.0
    }

    fn missing(&self) -> Cpus {
        self.count - Cpus(self.chosen.len())
    }

    /// CPUs of cores that overlap the set and are not yet chosen.
    fn free_on(&self, cpus: &CpuSet) -> Cpus {
        self.cores.iter().filter(|core| core.intersects(cpus)).map(|core| Cpus(core.len())).sum()
    }

    /// Takes the lowest core that overlaps the set, if one is still needed. Returns whether it took
    /// one.
    fn take_core_on(&mut self, cpus: &CpuSet) -> bool {
        if self.is_done() {
            return false;
        }
        let touches = |core: &&CpuSet| core.intersects(cpus);
        let Some(at) = self.cores.iter().position(touches) else { return false };
        let core = self.cores.remove(at);
        self.chosen = self.chosen.union(core);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{numa_node, smt_node};

    fn chosen(node: &crate::NodeSnapshot, free: &str, count: u32, gpus: &[u16]) -> String {
        let gpus: Vec<GpuIndex> = gpus.iter().map(|g| GpuIndex(*g)).collect();
        choose(&Class::of(&node.inventory), &free.parse().unwrap(), Cpus(count), &gpus).to_string()
    }

    #[test]
    fn the_example() {
        let node = numa_node("n");
        assert_eq!(chosen(&node, "0-7", 2, &[1]), "4-5");
        assert_eq!(chosen(&node, "0-3,6-7", 4, &[0, 1]), "0-1,6-7");
        assert_eq!(chosen(&node, "2-3", 2, &[]), "2-3");
    }

    #[test]
    fn without_gpus_the_fullest_numa_node_that_has_enough_is_taken() {
        let node = numa_node("n");
        assert_eq!(chosen(&node, "0-3,6-7", 2, &[]), "6-7");
        assert_eq!(chosen(&node, "0-3,6-7", 3, &[]), "0-2");
        assert_eq!(chosen(&node, "0-3,6-7", 5, &[]), "0-3,6");
    }

    #[test]
    fn far_cores_come_after_all_near_ones() {
        assert_eq!(chosen(&numa_node("n"), "0-7", 6, &[1]), "0-1,4-7");
    }

    #[test]
    fn a_core_is_given_whole_and_only_if_wholly_free() {
        let node = smt_node("n", 4);
        assert_eq!(chosen(&node, "0-7", 1, &[]), "0,4");
        assert_eq!(chosen(&node, "1-7", 3, &[]), "1-2,5-6");
    }
}
