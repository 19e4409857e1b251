//! The five metrics on the wire (GAR, SOR, GFR, waits by size, and the distance between a job's
//! nodes) and metrics of fragmentation.
//! Source: Kant (arXiv 2510.01256).

use crate::gpu::GpuKind;
use crate::time::Time;
use crate::unit::{GpuMilli, Gpus, Nodes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The utilization of the cluster (GET /v1/metrics). Fractions lie between 0 and 1. GPU counts
/// include healthy GPUs of nodes that are not down.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MetricsView {
    /// The controller's time of the answer.
    pub as_of: Time,
    /// All GPUs: the denominator of GAR.
    pub gpus: Gpus,
    /// In use.
    pub gpus_used_milli: GpuMilli,
    /// The same for each GPU kind, in ascending order.
    pub kinds: Vec<KindUse>,
    /// GPU allocation ratio: the fraction of all GPUs that is in use now.
    pub gar: f64,
    /// Scheduling occupancy rate: GPU-time allocated since `sor_from`, relative to the capacity of
    /// the present GPUs over that time.
    pub sor: f64,
    /// The begin of the window of `sor`, `waits` and `spans`: 24 hours ago, rounded to the full
    /// hour, or the first known job.
    pub sor_from: Time,
    /// GPU node fragmentation ratio: nodes with some but not all GPUs in use, relative to all nodes
    /// with GPUs.
    pub gfr: f64,
    /// The same, relative to the nodes with any GPU in use.
    pub gfr_of_used: f64,
    /// FR_8: the fraction of the free GPUs on schedulable nodes that no further 8-GPU job on one
    /// node can use.
    pub fr_8: f64,
    /// The FGD ratio: the fraction of the free GPUs on schedulable nodes that the typical job of
    /// the window cannot use there (ATC'23); `None` without any such job.
    pub fgd: Option<f64>,
    pub nodes: Nodes,
    /// Schedulable nodes with GPUs and without jobs.
    pub nodes_free: Nodes,
    pub leaf_groups: u32,
    /// Leaf groups with GPUs in which all nodes with GPUs are schedulable and without jobs.
    pub leaf_groups_free: u32,
    /// Waiting times by size of job, in the order of sizes, empty buckets included.
    pub waits: Vec<WaitBucket>,
    /// Distances by size of job, in the same buckets.
    pub spans: Vec<SpanBucket>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindUse {
    pub kind: GpuKind,
    pub gpus: Gpus,
    /// In use.
    pub used_milli: GpuMilli,
}

/// The waits of jobs of similar size, from submission or, if later, begin time to the first start.
/// Quantiles in seconds; `None` if no such job has started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WaitBucket {
    /// GPUs of the whole job: "0", "<1", "1", "2-7", "8", "9-63", "64-255", "256-1023", ">=1024".
    pub gpus: String,
    /// Jobs of this size that started in the window.
    pub started: u32,
    pub waiting: u32,
    pub mean_seconds: Option<u64>,
    pub p50_seconds: Option<u64>,
    pub p90_seconds: Option<u64>,
    pub p99_seconds: Option<u64>,
}

/// The distances within jobs of similar size: JTTED. Only for jobs of more than one GPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpanBucket {
    /// As in [`WaitBucket`].
    pub gpus: String,
    /// Jobs of this size that started in the window.
    pub jobs: u32,
    /// Mean ratio of the nodes used to the fewest possible, at least 1.
    pub nodes_ratio: Option<f64>,
    /// Mean ratio of the leaf groups used to the fewest possible, at least 1.
    pub groups_ratio: Option<f64>,
    /// Mean ratio of the estimated training time to the ideal one, at least 1; not measured.
    pub time_ratio: Option<f64>,
}
