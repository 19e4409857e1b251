//! A job's amounts over all nodes: as allocated, or as requested while it waits. Requested amounts
//! are not rounded up to cores, and an unspecified number of nodes counts as one; the engine
//! decides these when it places the job.

use common::job::Ask;
use common::resource::{Allocation, MemoryRequest, Request, Resources};
use common::unit::{Bytes, GpuMilli, Gpus, Nodes};
use state::State;
use state::job::Record;
use std::sync::Arc;

pub(super) fn allocated(allocation: &Allocation) -> Resources {
    let memory = allocation.shares().iter().map(|share| share.memory).sum();
    Resources { cpus: allocation.cpus(), memory, gpus: allocation.gpus() }
}

pub(crate) fn requested(state: &State, record: &Record) -> Resources {
    requested_by(state, &record.spec.ask)
}

pub(super) fn requested_by(state: &State, ask: &Ask) -> Resources {
    let request = &ask.request;
    let nodes = request.nodes.map_or(1, |nodes| nodes.0);
    let cpus = request.cpus_per_task.times(request.tasks.0);
    // A part of a GPU counts as one GPU.
    let gpus = request.gpu_parts().map_or_else(
        || Gpus(request.total_gpus_milli(Nodes(nodes), request.tasks).0 / GpuMilli::WHOLE.0),
        |parts| parts.devices,
    );
    let memory = match request.memory {
        Some(MemoryRequest::PerNode(memory)) => memory.times(nodes),
        Some(MemoryRequest::PerCpu(memory)) => memory.times(cpus.0),
        Some(MemoryRequest::PerGpu(memory)) => memory.times(gpus.0),
        None => {
            let queue = ask.queue.as_ref().and_then(|name| state.queue(name));
            queue.map_or(Bytes::ZERO, |queue| queue.memory_per_cpu.times(cpus.0))
        }
    };
    Resources { cpus, memory, gpus }
}

/// The request without arguments, resource limits, lists of nodes and the array.
pub(crate) fn without_bulk(ask: &Ask) -> Ask {
    let request = Request { only_nodes: Vec::new(), not_nodes: Vec::new(), ..ask.request.clone() };
    Ask {
        args: Vec::new(),
        request,
        array: None,
        dependency: None,
        rlimits: Arc::default(),
        ..ask.clone()
    }
}
