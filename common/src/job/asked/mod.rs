//! The resources that a user asks for: attributes that depend on each other become one request,
//! with the defaults that users of Slurm expect. `job::check` validates the request as a whole.

mod elastic;
mod per_gpu;

pub use elastic::ElasticError;
pub use per_gpu::PerGpuError;

use super::attributes::{Attribute, Given, GpuCount, GpusValue, Gres, Switches, to_request};
use crate::gpu::GpuKind;
use crate::resource::{GpuRequest, Request};
use crate::topology::{Level, Nearness};
use crate::unit::{Cpus, Nodes, Tasks};

/// Attributes that exclude each other, or cannot be derived from each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskedError {
    #[error(transparent)]
    PerGpu(#[from] PerGpuError),
    #[error(transparent)]
    Elastic(#[from] ElasticError),
}

/// The resources of these attributes, with the simple ones of `asked`.
///
/// # Errors
/// [`AskedError`] for attributes that exclude each other.
pub fn request(given: &Given, asked: &Request) -> Result<Request, AskedError> {
    let (gpus, kinds) = gpus(given);
    let mut kinds = kinds.into_iter();
    let range = elastic::node_range(given)?;
    let tasks = per_gpu::tasks(given, gpus)?;
    let tasks = tasks.unwrap_or_else(|| tasks_of(given));
    let cpus = per_gpu::cpus(given, gpus, tasks)?;
    let asked = Request {
        nodes: given.nodes().map(|nodes| Nodes(nodes.most)),
        tasks: Tasks(tasks),
        cpus_per_task: cpus.map_or(asked.cpus_per_task, Cpus),
        gpus,
        gpu_kind: kinds.next(),
        gpu_kinds_or: kinds.collect(),
        tasks_min: given.tasks().and_then(|tasks| tasks.least),
        grow: given.has(Attribute::Grow),
        near: near(given),
        ..asked.clone()
    };
    Ok(range.map_or_else(|| asked.clone(), |range| range.apply_to(&asked)))
}

/// The number of tasks: without `--ntasks`, `--ntasks-per-node` (or one) on each node.
#[must_use]
pub fn tasks_of(given: &Given) -> u32 {
    let nodes = given.nodes().map_or(1, |nodes| nodes.most);
    let each = given.get(Attribute::NtasksPerNode).unwrap_or(1);
    given.tasks().map_or_else(|| nodes.saturating_mul(each), |tasks| tasks.most.0)
}

/// The requested nearness. Slurm's blocks are NVLink domains (man sbatch, `--segment`), hence the
/// default for segments.
fn near(given: &Given) -> Option<Nearness> {
    let switches = given.has(Attribute::Switches).then_some(Switches::NEAR);
    let block = Nearness { level: Level::NvlinkDomain, required: true };
    let block = given.has(Attribute::Segment).then_some(block);
    given.get(Attribute::Near).or(switches).or(block)
}

/// The GPU request, and the accepted kinds in ascending order.
fn gpus(given: &Given) -> (Option<GpuRequest>, Vec<GpuKind>) {
    let gres = given.get(Attribute::Gres).and_then(|gres: Gres| gres.0);
    let per_node: Option<GpuCount> = given.get(Attribute::GpusPerNode).or(gres);
    let per_task: Option<GpuCount> = given.get(Attribute::GpusPerTask);
    let total: Option<GpusValue> = given.get(Attribute::Gpus);
    match (per_node, per_task, total) {
        (Some(gpus), ..) => (Some(GpuRequest::PerNode(gpus.count)), gpus.kinds),
        (_, Some(gpus), _) => (Some(GpuRequest::PerTask(gpus.count)), gpus.kinds),
        (.., Some(gpus)) => (Some(to_request(gpus.amount)), gpus.kinds),
        (None, None, None) => (None, Vec::new()),
    }
}
