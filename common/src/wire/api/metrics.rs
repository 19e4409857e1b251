//! The five metrics on the wire: GAR, SOR, GFR, waits by size, and how far apart jobs were put;
//! and what hygiene demands beside them. Never computes any: `engine::measure` does.
//! Source: Kant (arXiv 2510.01256).

use crate::gpu::GpuKind;
use crate::time::Time;
use crate::unit::{GpuMilli, Gpus, Nodes};
use serde::{Deserialize, Serialize};

/// How well the cluster is used (GET /v1/metrics). Fractions lie between 0 and 1. What counts GPUs
/// counts healthy ones of nodes that are not down.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricsView {
    /// The controller's time when it looked.
    pub as_of: Time,
    /// GPUs there are: the denominator of GAR.
    pub gpus: Gpus,
    /// Thousandths of GPUs in use.
    pub gpus_used_milli: GpuMilli,
    /// The same for each kind of GPU, rising.
    pub kinds: Vec<KindUse>,
    /// GPU allocation ratio: GPUs in use of those there are, now.
    pub gar: f64,
    /// Scheduling occupancy rate: GPU-time held since `sor_from`, of what the GPUs that are there
    /// now would have given meanwhile.
    pub sor: f64,
    /// The begin of the window of `sor`, `waits` and `spans`: the last 24 hours, to the full hour,
    /// or since the first job that is known of.
    pub sor_from: Time,
    /// GPU node fragmentation ratio: nodes with some but not all GPUs in use, of all with GPUs.
    pub gfr: f64,
    /// The same, of the nodes with any GPU in use.
    pub gfr_of_used: f64,
    /// FR_8: of the free GPUs where jobs may start, those that no further 8-GPU job on one node can
    /// have.
    pub fr_8: f64,
    /// The FGD ratio: of the free GPUs where jobs may start, the part that the typical job of the
    /// window cannot use there (ATC'23); `None` without any such job.
    pub fgd: Option<f64>,
    pub nodes: Nodes,
    /// Those of them where jobs may start and nobody is.
    pub nodes_free: Nodes,
    /// Leaf groups with GPUs.
    pub leaf_groups: u32,
    /// Those of them on whose nodes with GPUs jobs may start, on each of them, and nobody is.
    pub leaf_groups_free: u32,
    /// Waiting times by size of job, in the order of sizes; every bucket, also an empty one.
    pub waits: Vec<WaitBucket>,
    /// How far apart jobs were put, by size of job; the same buckets.
    pub spans: Vec<SpanBucket>,
}

/// GPUs of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindUse {
    pub kind: GpuKind,
    pub gpus: Gpus,
    /// Thousandths of GPUs in use.
    pub used_milli: GpuMilli,
}

/// The waits of jobs of like size, from submission or, if that is later, begin time to the first
/// start. Quantiles in seconds; `None`: no such job has started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitBucket {
    /// GPUs in the whole job: "0", "<1", "1", "2-7", "8", "9-63", "64-255", "256-1023", ">=1024".
    pub gpus: String,
    /// Jobs of this size that started in the window.
    pub started: u32,
    /// Jobs of this size that wait now.
    pub waiting: u32,
    pub mean_seconds: Option<u64>,
    pub p50_seconds: Option<u64>,
    /// 90th percentile.
    pub p90_seconds: Option<u64>,
    /// 99th percentile.
    pub p99_seconds: Option<u64>,
}

/// How far apart jobs of like size were put: JTTED. Of jobs of more than one GPU: others have no
/// choice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpanBucket {
    /// As in [`WaitBucket`].
    pub gpus: String,
    /// Jobs of this size that started in the window.
    pub jobs: u32,
    /// Nodes used of the fewest possible, at least 1; mean.
    pub nodes_ratio: Option<f64>,
    /// Leaf groups used of the fewest possible, at least 1; mean.
    pub groups_ratio: Option<f64>,
    /// Estimated training time of the ideal one, at least 1; an estimate, no measurement; mean.
    pub time_ratio: Option<f64>,
}
