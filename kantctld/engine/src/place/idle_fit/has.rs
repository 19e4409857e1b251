//! What a node has of what a job asks for.

use crate::model::cluster::class::Class;
use crate::model::cluster::free::Free;
use crate::model::cluster::node::Node;
use common::gpu_parts::PartSize;
use common::reason::{Nearest, Need};
use common::resource::Request;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};

/// What a node has of what is asked for, in order of importance: GPUs first, then CPUs, then
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Has {
    /// For shares: the GPUs with room for one.
    pub gpus: Gpus,
    /// For shares: the most that is free of one GPU.
    pub gpu_part: Option<PartSize>,
    pub cpus: Cpus,
    pub memory: Bytes,
}

impl Has {
    pub(crate) fn of(class: &Class, request: &Request, free: &Free) -> Self {
        if free.closed {
            return Self::default();
        }
        let (cpus, memory) = (free.core_cpus, free.memory);
        let Some(parts) = request.gpu_parts() else {
            let gpus = Gpus(free.gpus_for(class, request).count_ones());
            return Self { gpus, gpu_part: None, cpus, memory };
        };
        let accepted = class.accepted_positions(request);
        let gpus = free.with_room(accepted, class.gpu_fraction(request)).count();
        let most = free.with_room(accepted, GpuMilli(1)).map(|at| free.milli_of(at)).max();
        let most = GpuMilli(u32::from(most.unwrap_or(0)));
        let gpu = class.smallest_accepted_memory(request).unwrap_or_default();
        Self {
            gpus: Gpus(u32::try_from(gpus).unwrap_or(u32::MAX)),
            gpu_part: Some(parts.each.in_same_unit(most, gpu)),
            cpus,
            memory,
        }
    }

    /// Capped at what is needed.
    pub(crate) fn capped_at_need(self, need: &Need) -> Self {
        Self {
            gpus: self.gpus.min(need.gpus),
            gpu_part: self.gpu_part.min(need.gpu_part),
            cpus: self.cpus.min(need.cpus),
            memory: self.memory.min(need.memory),
        }
    }

    pub(crate) fn to_nearest(self, node: &Node) -> Nearest {
        let Self { gpus, gpu_part, cpus, memory } = self;
        Nearest { node: node.name.clone(), cpus, memory, gpus, gpu_part }
    }
}
