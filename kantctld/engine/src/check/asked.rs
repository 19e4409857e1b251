//! Checks that a job gets what it asked for: all of it, whole cores, GPUs of its kinds, its memory,
//! and nodes that it may use. What is free is checked elsewhere.

use super::Judge;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use common::cpuset::CpuSet;
use common::id::{GpuIndex, NodeName};
use common::policy::queue::Queue;
use common::policy::{Placement, ZoneOverflow};
use common::resource::{Allocation, GpuRequest, MemoryRequest, Share};
use common::unit::Cpus;

impl Judge<'_> {
    /// The conditions over all nodes of a job.
    pub(super) fn check_totals(&mut self, job: &WaitingJob, allocation: &Allocation) {
        let (request, shares) = (&job.request, allocation.shares());
        let sum = |of: fn(&Share) -> usize| shares.iter().map(of).sum::<usize>();
        let (tasks, all) = (allocation.tasks(), request.tasks);
        let enough = request.tasks_min.map_or(tasks == all, |least| tasks >= least);
        self.require(enough && tasks <= all, "does not get all of its tasks placed");
        let nodes = request.nodes.map_or(shares.len(), |nodes| nodes.0 as usize);
        self.require(shares.len() == nodes, "does not get the nodes it asked for");
        if let Some(GpuRequest::Total(total)) = request.gpus {
            let (got, total) = (sum(|share| share.gpus.len()), total.0 as usize);
            let enough = if request.exclusive { got >= total } else { got == total };
            self.require(enough, "does not get the GPUs it asked for in all");
        }
        if request.nodes.is_some() || matches!(request.gpus, Some(GpuRequest::Total(_))) {
            let range = |of: fn(&Share) -> usize| {
                let counts = || shares.iter().map(of);
                counts().max().unwrap_or(0) - counts().min().unwrap_or(0)
            };
            self.require(range(|share| share.tasks.0 as usize) <= 1, "has its tasks uneven");
            let gpus_even = request.exclusive
                || !matches!(request.gpus, Some(GpuRequest::Total(_)))
                || range(|share| share.gpus.len()) <= 1;
            self.require(gpus_even, "has its GPUs uneven");
        }
    }

    /// Whether the job may use this node.
    pub(super) fn check_node_allowed(
        &mut self,
        job: &WaitingJob,
        queue: &Queue,
        share: &Share,
        node: &NodeSnapshot,
    ) {
        let forbidden = self.rules_against_node(job, queue, node);
        let mut rule = |holds: bool, otherwise: &str| {
            self.require(holds, &format!("on {}: {otherwise}", share.node));
        };
        forbidden.into_iter().for_each(|otherwise| rule(false, otherwise));
        rule(share.tasks.0 > 0, "no task runs there");
        let most = job.request.tasks_per_node.is_none_or(|most| share.tasks <= most);
        rule(most, "more tasks than it allows on a node");
    }

    /// What rules this node out for the job, whatever is free.
    pub(super) fn rules_against_node(
        &self,
        job: &WaitingJob,
        queue: &Queue,
        node: &NodeSnapshot,
    ) -> Vec<&'static str> {
        let request = &job.request;
        let zone = self.snapshot.policy().topology.0.get(&node.name).and_then(|p| p.zone.as_ref());
        let zone = zone.filter(|zone| self.zones.contains(zone));
        let spreads = job.service && queue.placement == Placement::ESpread;
        let waits_for_zone =
            spreads && queue.zone.is_some() && queue.zone_overflow == ZoneOverflow::Wait;
        let named = |names: &[NodeName]| names.contains(&node.name);
        let mut against = Vec::new();
        let mut rule = |holds: bool, otherwise| {
            if !holds {
                against.push(otherwise);
            }
        };
        rule(node.unusable.is_none(), "the node is down or drained");
        rule(queue.nodes.is_empty() || named(&queue.nodes), "the node is not in its queue");
        rule(request.only_nodes.is_empty() || named(&request.only_nodes), "not a node it named");
        rule(!named(&request.not_nodes), "a node it excluded");
        let features = &node.inventory.features;
        let has = request.constraint.as_ref().is_none_or(|asked| asked.holds(features));
        rule(has, "a node without the features it asks for");
        let its_own = zone.is_none_or(|zone| spreads && queue.zone.as_ref() == Some(zone));
        rule(its_own, "the node is kept for services of another zone");
        rule(!waits_for_zone || zone.is_some(), "the node is outside of its zone");
        against
    }

    /// The conditions on each node of a job, whatever is free.
    pub(super) fn check_share(
        &mut self,
        job: &WaitingJob,
        queue: &Queue,
        share: &Share,
        node: &NodeSnapshot,
    ) {
        let (request, has) = (&job.request, &node.inventory);
        let mut rule = |holds: bool, otherwise: &str| {
            self.require(holds, &format!("on {}: {otherwise}", share.node));
        };
        let tasks = u64::from(share.tasks.0);
        let asked = tasks * u64::from(request.cpus_per_task.0);
        let got = u64::from(share.cpus.len());
        let core_max = has.cores.iter().map(CpuSet::len).max().unwrap_or(1);
        rule(got >= asked, "fewer CPUs than its tasks need");
        let spare = got.saturating_sub(asked);
        rule(request.exclusive || spare < u64::from(core_max), "a core more than it needs");
        let whole = |core: &CpuSet| !core.intersects(&share.cpus) || core.is_subset(&share.cpus);
        rule(has.cores.iter().all(whole), "a core is split");

        rule(share.gpus.windows(2).all(|pair| pair[0] < pair[1]), "GPUs not rising");
        let is_kind = |index: &&GpuIndex| {
            let gpu = has.gpus.iter().find(|gpu| gpu.index == **index);
            gpu.is_some_and(|gpu| request.accepts(&gpu.kind))
        };
        let (gpus, of_kind) = (share.gpus.len(), share.gpus.iter().filter(is_kind).count());
        rule(request.exclusive || of_kind == gpus, "a GPU of another kind");
        let right = |count: u64| {
            let of_kind = of_kind as u64;
            of_kind == count || request.exclusive && of_kind >= count
        };
        rule(asked_gpus(job, tasks).is_none_or(right), "not the GPUs it asked for");
        let smallest = has.gpus.iter().filter(|gpu| request.accepts(&gpu.kind));
        let smallest = smallest.map(|gpu| gpu.memory).min().unwrap_or_default();
        let part = request.gpu_parts().map(|parts| parts.each.gpu_fraction(smallest));
        rule(share.gpu_milli == part, "not the part of a GPU it asked for");

        let product = |each: u64, count: u64| u128::from(each) * u128::from(count);
        let memory = match request.memory {
            Some(MemoryRequest::PerNode(bytes)) if bytes.0 == 0 => has.memory.0.into(),
            Some(MemoryRequest::PerNode(bytes)) => bytes.0.into(),
            Some(MemoryRequest::PerCpu(bytes)) => product(bytes.0, asked),
            // A job for whole nodes gets all GPUs, but memory only for those that it asked for.
            Some(MemoryRequest::PerGpu(_)) if request.exclusive => share.memory.0.into(),
            Some(MemoryRequest::PerGpu(bytes)) => product(bytes.0, gpus as u64),
            None if request.exclusive => has.memory.0.into(),
            None => product(queue.memory_per_cpu.0, asked),
        };
        rule(u128::from(share.memory.0) == memory, "not the memory it asked for");
        rule(Cpus(share.cpus.len()) > Cpus::ZERO, "no CPU at all");
    }
}

/// The GPUs on a node with this many tasks; `None`: the job asks for a total.
fn asked_gpus(job: &WaitingJob, tasks: u64) -> Option<u64> {
    match job.request.gpus {
        None => Some(0),
        Some(GpuRequest::PerNode(count)) => Some(count.0.into()),
        Some(GpuRequest::PerTask(count)) => Some(tasks * u64::from(count.0)),
        Some(GpuRequest::Parts(parts)) => Some(parts.devices.0.into()),
        Some(GpuRequest::Total(_)) => None,
    }
}
