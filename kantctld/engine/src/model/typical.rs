//! What jobs of this cluster typically ask for on one node, against which fragmentation is
//! measured.
//!
//! Source: Q. Weng et al., "Beware of Fragmentation" (USENIX ATC'23), section 3: the shapes that
//! make up 95 % of the jobs.

use common::gpu::GpuKind;
use common::gpu_parts::{GpuParts, PartSize};
use common::resource::{GpuRequest, MemoryRequest, Request};
use common::unit::{Bytes, Cpus};
use std::collections::BTreeMap;

/// Shapes are taken, most frequent first, until they make up this fraction of all jobs.
const PART: f64 = 0.95;

/// One shape of request, on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typical {
    pub cpus: Cpus,
    pub memory: Bytes,
    pub gpus: u32,
    pub milli: u16,
    /// The kinds it accepts. `None`: any whole GPUs.
    pub kinds: Option<Vec<GpuKind>>,
    /// How many jobs ask for it.
    pub jobs: u32,
}

impl Typical {
    /// A share of one GPU and hardly anything else.
    #[must_use]
    pub const fn share(milli: u16) -> Self {
        let (cpus, memory) = (Cpus(1), Bytes(0));
        Self { cpus, memory, gpus: 1, milli, kinds: None, jobs: 1 }
    }
}

type Shape = (Cpus, Bytes, u32, u16, Option<Vec<GpuKind>>);

/// The shapes that make up most of these requests. A request for several nodes counts as the part
/// of one node.
pub fn typical<'a>(requests: impl Iterator<Item = (&'a Request, usize)>) -> Vec<Typical> {
    let mut counts: BTreeMap<Shape, usize> = BTreeMap::new();
    for (request, count) in requests {
        *counts.entry(shape(request)).or_default() += count;
    }
    let all: usize = counts.values().sum();
    let mut shapes: Vec<(Shape, usize)> = counts.into_iter().collect();
    shapes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut taken = 0;
    let mut kept = Vec::new();
    for (shape, count) in shapes {
        if taken as f64 >= PART * all as f64 {
            break;
        }
        taken += count;
        kept.push((shape, count));
    }
    let weigh = |((cpus, memory, gpus, milli, kinds), count): (Shape, usize)| Typical {
        cpus,
        memory,
        gpus,
        milli,
        kinds,
        jobs: u32::try_from(count).unwrap_or(u32::MAX),
    };
    kept.into_iter().map(weigh).collect()
}

fn shape(request: &Request) -> Shape {
    let nodes = request.nodes.map_or(1, |nodes| nodes.0.max(1));
    let tasks = request.tasks.0.div_ceil(nodes);
    let cpus = request.cpus_per_task.times(tasks);
    let (gpus, milli) = match request.gpus {
        None => (0, 0),
        Some(GpuRequest::PerNode(gpus)) => (gpus.0, 1000),
        Some(GpuRequest::PerTask(gpus)) => (gpus.times(tasks).0, 1000),
        Some(GpuRequest::Total(gpus)) => (gpus.0.div_ceil(nodes), 1000),
        // The fraction of a share by memory depends on the GPU; half is assumed.
        Some(GpuRequest::Parts(GpuParts { devices, each })) => match each {
            PartSize::Milli(part) => (devices.0, u16::try_from(part.0).unwrap_or(1000)),
            PartSize::Memory(_) => (devices.0, 500),
        },
    };
    let memory = match request.memory {
        None => Bytes::ZERO,
        Some(MemoryRequest::PerNode(bytes)) => bytes,
        Some(MemoryRequest::PerCpu(bytes)) => bytes.times(cpus.0),
        Some(MemoryRequest::PerGpu(bytes)) => bytes.times(gpus),
    };
    let kinds = request.gpu_kind.as_ref().map(|kind| {
        let mut kinds = request.gpu_kinds_or.clone();
        kinds.push(kind.clone());
        kinds.sort();
        kinds
    });
    (cpus, memory, gpus, milli, kinds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gpu_request, request};

    #[test]
    fn rare_shapes_are_left_out_and_the_others_are_counted() {
        let (one, eight, none) = (gpu_request(1), gpu_request(8), request(1, 4));
        let shapes = typical([(&one, 90), (&eight, 7), (&none, 3)].into_iter());
        let counted: Vec<(u32, u32)> = shapes.iter().map(|s| (s.gpus, s.jobs)).collect();
        assert_eq!(counted, [(1, 90), (8, 7)]);
    }
}
