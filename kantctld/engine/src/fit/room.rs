//! Does a node hold a part of a job, and how many tasks does it hold? Never looks at other nodes.
//!
//! CPUs are given as whole cores: only CPUs of wholly free cores count, so that two jobs never
//! share a core. A job that asks for whole nodes needs them idle.
//!
//! Source: man slurm.conf, SelectTypeParameters CR_Core_Memory; man sbatch, `--exclusive`.

use crate::cluster::Node;
use crate::fit::demand::{Demand, Part};
use crate::free::Free;
use common::unit::{Gpus, Tasks};

/// Does this node, with this much free, hold the part?
pub(crate) fn holds(demand: &Demand<'_>, node: Node<'_>, free: &Free, part: Part) -> bool {
    let request = demand.request;
    if free.closed || request.tasks_per_node.is_some_and(|most| part.tasks > most) {
        return false;
    }
    if request.exclusive && !free.is_idle(node.inventory) {
        return false;
    }
    let needs = demand.amounts(part, node.inventory);
    needs.cpus <= free.core_cpus
        && needs.memory <= free.memory
        && (needs.gpus == Gpus::ZERO || needs.gpus <= free_gpus(demand, node, free))
}

/// The most tasks of the job this node holds, at most all of them. Not for jobs that give their
/// GPUs in all: their parts are even.
pub(crate) fn room(demand: &Demand<'_>, node: Node<'_>, free: &Free) -> Tasks {
    let fits = |tasks: u32| holds(demand, node, free, demand.part(Tasks(tasks)));
    let all = demand.request.tasks.0;
    if fits(all) {
        return Tasks(all);
    }
    // More tasks never need less: search between what fits and what does not.
    let (mut fitting, mut too_many) = (0, all);
    while fitting + 1 < too_many {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    Tasks(fitting)
}

/// How many free GPUs of the wanted kind.
pub(crate) fn free_gpus(demand: &Demand<'_>, node: Node<'_>, free: &Free) -> Gpus {
    let count = free.gpus_of(node.inventory, demand.request.gpu_kind.as_ref()).count();
    Gpus(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Cluster, NodeIndex};
    use crate::testing::{cpu_node, gpu_node, queue, request, smt_node, snapshot};
    use common::resource::{GpuRequest, MemoryRequest};
    use common::unit::{Bytes, Cpus};

    /// Tasks of `request` that an idle `node` with `free_cpus` holds.
    fn tasks(
        request: &common::resource::Request,
        mut node: crate::NodeSnapshot,
        taken: &str,
    ) -> u32 {
        node.free_cpus = node.free_cpus.difference(&taken.parse().unwrap());
        let snapshot = snapshot(vec![node]);
        let free = Free::of(&snapshot.nodes[0]);
        let node = Cluster::of(&snapshot).node(NodeIndex(0));
        room(&Demand::new(request, &queue("q")), node, &free).0
    }

    #[test]
    fn cpus_count_only_on_wholly_free_cores() {
        // Four cores of two threads: 0 and 4, 1 and 5, ...
        assert_eq!(tasks(&request(9, 1), smt_node("n", 4), ""), 8);
        assert_eq!(tasks(&request(9, 1), smt_node("n", 4), "0"), 6);
        assert_eq!(tasks(&request(9, 3), smt_node("n", 4), "0,5"), 1);
    }

    #[test]
    fn memory_gpus_and_tasks_per_node_bound_the_room() {
        // 16 CPUs, 8 GPUs, 64 GiB.
        let node = || gpu_node("n", 8);
        let mut job = request(100, 1);
        assert_eq!(tasks(&job, node(), ""), 16);
        job.memory = Some(MemoryRequest::PerCpu(Bytes(10 << 30)));
        assert_eq!(tasks(&job, node(), ""), 6);
        job.gpus = Some(GpuRequest::PerTask(Gpus(2)));
        assert_eq!(tasks(&job, node(), ""), 4);
        job.tasks_per_node = Some(Tasks(3));
        assert_eq!(tasks(&job, node(), ""), 3);
        job.memory = Some(MemoryRequest::PerGpu(Bytes(20 << 30)));
        assert_eq!(tasks(&job, node(), ""), 1);
        job.memory = Some(MemoryRequest::PerNode(Bytes(65 << 30)));
        assert_eq!(tasks(&job, node(), ""), 0);
    }

    #[test]
    fn whole_nodes_and_all_memory_need_what_they_say() {
        let mut job = request(2, 1);
        job.exclusive = true;
        assert_eq!(tasks(&job, cpu_node("n", 4), ""), 2);
        assert_eq!(tasks(&job, cpu_node("n", 4), "0"), 0);
        let mut leftover = cpu_node("n", 4);
        leftover.free_memory -= Bytes(1);
        job.memory = Some(MemoryRequest::PerNode(Bytes(1)));
        assert_eq!(tasks(&job, leftover, ""), 0, "somebody is still there");

        let mut closed = cpu_node("n", 4);
        closed.exclusive = true;
        assert_eq!(tasks(&request(1, 1), closed, ""), 0);

        let mut job = request(2, 1);
        job.memory = Some(MemoryRequest::PerNode(Bytes::ZERO));
        assert_eq!(tasks(&job, cpu_node("n", 4), "0"), 2);
        let mut used = cpu_node("n", 4);
        used.free_memory -= Bytes(1);
        assert_eq!(tasks(&job, used, ""), 0);
    }

    #[test]
    fn absurd_requests_hold_nowhere_and_do_not_overflow() {
        let mut job = request(u32::MAX, u32::MAX);
        job.memory = Some(MemoryRequest::PerCpu(Bytes(u64::MAX)));
        assert_eq!(tasks(&job, cpu_node("n", 4), ""), 0);
        job.cpus_per_task = Cpus(1);
        job.memory = Some(MemoryRequest::PerNode(Bytes(1)));
        assert_eq!(tasks(&job, cpu_node("n", 4), ""), 4);
    }
}
