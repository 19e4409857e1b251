//! A job of a trace: what it asked for and how long it really ran. The outcome of a replay is
//! `report::JobOutcome`.

use common::time::{Span, Time};
use common::unit::{GpuMilli, Gpus, Nodes};
use std::collections::BTreeMap;

/// The one constraint that a scheduler must obey.
pub(super) const MAX_PER_NODE: &str = "max_per_node";

/// Thousandths of a CPU. Traces have values like 11.908.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CpuMilli(pub u32);

/// Which run time the scheduler plans with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimates {
    /// The requested walltime; twice the run time if the trace has none.
    Request,
    /// The real run time, as if users could foresee it.
    Exact,
}

/// One job. Times count from the start of the trace, in two forms: as written, and in milliseconds
/// (nearest, half up) for computing.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its number in the trace.
    pub id: u64,
    pub submit: Time,
    /// The same in seconds, as written.
    pub submit_seconds: f64,
    pub runtime: Span,
    /// The same in seconds, as written.
    pub runtime_seconds: f64,
    pub walltime: Option<Span>,
    /// The same in seconds, as written.
    pub walltime_seconds: Option<f64>,
    /// Its nodes. All start together.
    pub nodes: Nodes,
    /// GPUs on each of them.
    pub gpus_per_node: Gpus,
    /// The fraction of each GPU: 1000 is a whole GPU, less is a shared one, 0 is a job without
    /// GPUs.
    pub gpu_fraction: GpuMilli,
    /// GPU models it may use; empty for any.
    pub gpu_models: Vec<String>,
    /// CPUs on each node, if recorded.
    pub cpus: Option<CpuMilli>,
    /// Memory on each node in MiB, if recorded.
    pub mem_mib: Option<u64>,
    /// The submitting user. This and the next five are empty if unknown.
    pub user: String,
    /// Virtual cluster, queue or application.
    pub group: String,
    pub qos: String,
    /// The account it was charged to, if that is not the group's.
    pub account: String,
    /// `training`, `inference` or `other`.
    pub kind: String,
    /// How it originally ended.
    pub status: String,
    /// Further constraints by name, like `max_per_node`.
    pub constraint: BTreeMap<String, String>,
}

impl Job {
    /// What it takes of every node's GPUs.
    #[must_use]
    pub const fn gpu_milli_per_node(&self) -> GpuMilli {
        self.gpu_fraction.times(self.gpus_per_node.0)
    }

    /// What it takes of all GPUs together.
    #[must_use]
    pub const fn gpu_milli_total(&self) -> GpuMilli {
        self.gpu_milli_per_node().times(self.nodes.0)
    }

    /// The most jobs of its group on one node.
    #[must_use]
    pub fn max_per_node(&self) -> Option<u32> {
        self.constraint.get(MAX_PER_NODE)?.parse().ok()
    }

    /// How long the scheduler expects it to run.
    #[must_use]
    pub const fn estimate(&self, estimates: Estimates) -> Span {
        match (estimates, self.walltime) {
            (Estimates::Exact, _) => self.runtime,
            (Estimates::Request, Some(walltime)) => walltime,
            (Estimates::Request, None) => Span(self.runtime.0.saturating_mul(2)),
        }
    }

    /// Multiplies its submission's distance from the start of the trace by `factor`; below 1 makes
    /// the load higher. The caller ensures that `factor` is finite and above zero.
    pub fn scale_submit(&mut self, factor: f64) {
        self.submit_seconds *= factor;
        // Times of a trace are far below the 53 bits that a float holds exactly.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rounded = (self.submit_seconds * 1000.0).round() as u64;
        self.submit = Time(rounded);
    }
}
