//! What a job needs on one node, in numbers.
//!
//! Memory per CPU counts the CPUs that the job asked for, not those added by rounding up to whole
//! cores, so that the same job needs the same memory on any node.
//!
//! Source: man sbatch, `--mem`, `--mem-per-cpu`, `--mem-per-gpu`, `--gpus`, `--exclusive`.

use crate::model::cluster::class::Class;
use crate::model::cluster::tally::Takes;
use common::gpu_parts::{GpuParts, PartSize};
use common::policy::queue::Queue;
use common::resource::{GpuRequest, MemoryRequest, Request, Resources};
use common::unit::{Bytes, GpuMilli, Gpus, Nodes, Tasks};

/// A request with the queue's defaults filled in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand<'a> {
    pub request: &'a Request,
    /// The number of tasks: all that the job asks for, or fewer for an elastic job.
    pub tasks: Tasks,
    /// The GPU shares that it asks for.
    pub parts: Option<Parts>,
    memory: MemoryDemand,
}

/// The same share of each of N GPUs of a node. For shares by memory, the smallest and largest
/// fraction on any node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub devices: Gpus,
    pub least: GpuMilli,
    pub most: GpuMilli,
}

#[derive(Debug, Clone, Copy)]
enum MemoryDemand {
    WholeNode,
    PerNode(Bytes),
    PerCpu(Bytes),
    PerGpu(Bytes),
}

/// What one node of a gang carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub tasks: Tasks,
    pub gpus: Gpus,
}

impl<'a> Demand<'a> {
    pub fn new(request: &'a Request, queue: &Queue) -> Self {
        let memory = match request.memory {
            Some(MemoryRequest::PerNode(Bytes::ZERO)) => MemoryDemand::WholeNode,
            Some(MemoryRequest::PerNode(bytes)) => MemoryDemand::PerNode(bytes),
            Some(MemoryRequest::PerCpu(bytes)) => MemoryDemand::PerCpu(bytes),
            Some(MemoryRequest::PerGpu(bytes)) => MemoryDemand::PerGpu(bytes),
            None if request.exclusive => MemoryDemand::WholeNode,
            None => MemoryDemand::PerCpu(queue.memory_per_cpu),
        };
        let parts = request.gpu_parts().map(|GpuParts { devices, each }| {
            let (least, most) = match each {
                PartSize::Milli(part) => (part, part),
                PartSize::Memory(_) => (GpuMilli(1), GpuMilli::WHOLE),
            };
            Parts { devices, least, most }
        });
        Self { request, tasks: request.tasks, parts, memory }
    }

    /// The same demand, where the job may use nodes of these classes only.
    #[must_use]
    pub fn limited_to_classes<'c>(mut self, classes: impl Iterator<Item = &'c Class>) -> Self {
        if let Some(parts) = &mut self.parts {
            let each = classes.filter_map(|class| self.request.gpu_part_on(&class.inventory.gpus));
            let fits = |part: &GpuMilli| *part <= GpuMilli::WHOLE;
            let (least, most) = each.filter(fits).fold((None, None), |(least, most), part| {
                let least: Option<GpuMilli> = least;
                (Some(least.map_or(part, |least| least.min(part))), most.max(Some(part)))
            });
            parts.least = least.unwrap_or(parts.least);
            parts.most = most.unwrap_or(parts.most);
        }
        self
    }

    /// The same demand with fewer tasks.
    #[must_use]
    pub const fn with_tasks(mut self, tasks: Tasks) -> Self {
        self.tasks = tasks;
        self
    }

    /// The total of GPUs, for a job that asks for a total to be divided among its nodes.
    pub const fn gpus_total(&self) -> Option<Gpus> {
        match self.request.gpus {
            Some(GpuRequest::Total(gpus)) => Some(gpus),
            _ => None,
        }
    }

    /// The part of one node with this many tasks, for a job whose GPUs per node follow from them.
    pub const fn part(&self, tasks: Tasks) -> Part {
        let gpus = match self.request.gpus {
            Some(GpuRequest::PerNode(gpus)) => gpus,
            Some(GpuRequest::PerTask(gpus)) => gpus.times(tasks.0),
            Some(GpuRequest::Total(gpus)) => gpus,
            Some(GpuRequest::Parts(parts)) => parts.devices,
            None => Gpus::ZERO,
        };
        Part { tasks, gpus }
    }

    /// Divides tasks (and the total of GPUs) over this many nodes as evenly as possible, larger
    /// parts first. There are at most three different parts, and no part is larger in any respect
    /// than one before it.
    pub fn even_parts(&self, nodes: Nodes) -> Vec<Part> {
        (0..nodes.0).map(|rank| self.even_part(nodes, rank)).collect()
    }

    /// One node's part of an even division over this many nodes. Rank 0 has the largest part.
    pub fn even_part(&self, nodes: Nodes, rank: u32) -> Part {
        let nodes = nodes.0.max(1);
        let spread = |count: u32| count / nodes + u32::from(rank < count % nodes);
        let tasks = Tasks(spread(self.tasks.0));
        match self.gpus_total() {
            Some(Gpus(gpus)) => Part { tasks, gpus: Gpus(spread(gpus)) },
            None => self.part(tasks),
        }
    }

    /// What a part takes on a node of this class.
    pub fn usage_on_class(&self, part: Part, class: &Class) -> Takes {
        let mut resources = self.amounts_of(part, class.inventory.memory);
        let (gpus, milli, shared) = match self.parts {
            Some(parts) => (Gpus::ZERO, class.gpu_fraction(self.request), parts.devices),
            None => (part.gpus, GpuMilli::ZERO, Gpus::ZERO),
        };
        let whole_node = self.request.exclusive;
        resources.gpus = gpus;
        let accepted = class.accepted_positions(self.request);
        Takes { resources, accepted, milli, shared, whole_node }
    }

    /// What a part needs on a node with this much memory; CPUs before rounding up to whole cores.
    pub fn amounts_of(&self, part: Part, all_memory: Bytes) -> Resources {
        let cpus = self.request.cpus_per_task.times(part.tasks.0);
        let memory = match self.memory {
            MemoryDemand::WholeNode => all_memory,
            MemoryDemand::PerNode(bytes) => bytes,
            MemoryDemand::PerCpu(bytes) => bytes.times(cpus.0),
            MemoryDemand::PerGpu(bytes) => bytes.times(part.gpus.0),
        };
        Resources { cpus, memory, gpus: part.gpus }
    }
}

/// The most tasks, at most `all`, for which `fits` returns true. More tasks never need less.
pub(crate) fn most_tasks(all: Tasks, fits: impl Fn(Tasks) -> bool) -> Tasks {
    if fits(all) {
        return all;
    }
    // Binary search between a number that fits and one that does not.
    let (mut fitting, mut too_many) = (0, all.0);
    while fitting + 1 < too_many {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(Tasks(middle)) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    Tasks(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{queue, request};

    #[test]
    fn tasks_and_gpus_are_spread_evenly_larger_parts_first() {
        let mut request = request(7, 1);
        request.gpus = Some(GpuRequest::Total(Gpus(20)));
        let parts = Demand::new(&request, &queue("q")).even_parts(Nodes(3));
        let part = |tasks, gpus| Part { tasks: Tasks(tasks), gpus: Gpus(gpus) };
        assert_eq!(parts, [part(3, 7), part(2, 7), part(2, 6)]);
    }
}
