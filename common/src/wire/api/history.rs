//! Accounting: runs of finished jobs, and sums over them. Only reports include jobs that still run,
//! with their time so far.

use super::JobView;
use crate::id::{NodeName, Uid};
use crate::job::StepRecord;
use crate::time::Time;
use crate::unit::{Cpus, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of a job or array task, or a job that ended while it waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRun {
    /// The job at the end of the run, without its timeline and the parts that lists omit. The state
    /// of a run whose user requested a requeue is REQUEUED.
    pub job: JobView,
    /// The run's number, from 1.
    pub run: u32,
    /// `None`: it was never allocated.
    #[serde(default)]
    pub allocated_at: Option<Time>,
    /// From the allocation to the end; a share of a GPU counts as that fraction.
    #[serde(default)]
    pub gpu_milliseconds: u64,
    #[serde(default)]
    pub cpu_milliseconds: u64,
    /// The job was requeued, and other runs follow.
    #[serde(default)]
    pub requeued: bool,
    /// Only if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
}

/// A selection of runs. Every list is names separated by commas; an empty list selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HistoryQuery {
    /// Jobs and array tasks: 42,43_7.
    pub jobs: String,
    /// Names or uids.
    pub users: String,
    pub accounts: String,
    pub queues: String,
    /// Slurm states: COMPLETED,FAILED.
    pub states: String,
    /// Ended at this time or later; in milliseconds since 1970.
    pub since: Option<Time>,
    /// Ended before this time.
    pub until: Option<Time>,
    /// Submitted at this time or earlier.
    pub submitted_until: Option<Time>,
    /// Include earlier runs of requeued jobs.
    pub every_run: bool,
    pub steps: bool,
    /// The maximum number of runs; the server has a maximum of its own.
    pub limit: Option<u32>,
    /// The begin of the page: [`HistoryList::next`] of the page before.
    pub after: Option<String>,
}

/// Runs, latest end first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HistoryList {
    /// One page.
    pub runs: Vec<HistoryRun>,
    /// The begin of the next page; `None` on the last page.
    pub next: Option<String>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

/// The sums of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReportQuery {
    /// The grouping, separated by commas: user, account, queue, qos, state, gpus, cpus, nodes.
    pub by: String,
    /// The begin of the period, in milliseconds since 1970.
    pub since: Time,
    /// The end of the period; `None`: now.
    pub until: Option<Time>,
    /// Names or uids.
    pub users: String,
    pub accounts: String,
    pub queues: String,
}

/// A group of runs. Fields of the grouping are set.
#[derive(
    Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
pub struct RunGroup {
    pub user: Option<String>,
    pub uid: Option<Uid>,
    /// Jobs without an account have "".
    pub account: Option<String>,
    pub queue: Option<String>,
    pub qos: Option<String>,
    /// The Slurm state.
    pub state: Option<String>,
    /// GPUs of a run.
    pub gpus: Option<u32>,
    /// CPUs of a run.
    pub cpus: Option<u32>,
    /// Nodes of a run.
    pub nodes: Option<u32>,
}

/// The usage of a group of runs within the period.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReportRow {
    #[serde(flatten)]
    pub group: RunGroup,
    /// Runs with time in the period.
    pub runs: u64,
    /// In the period.
    pub gpu_milliseconds: u64,
    /// In the period.
    pub cpu_milliseconds: u64,
}

/// The time limits of a group of runs, compared with the times that they ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EstimatesRow {
    #[serde(flatten)]
    pub group: RunGroup,
    /// Runs with a time limit that ended by themselves or by it within the period.
    pub runs: u64,
    /// Runs that their time limits ended.
    pub timeouts: u64,
    /// The sum of the time limits.
    pub limit_milliseconds: u64,
    /// The sum of the times that the runs ran.
    pub run_milliseconds: u64,
    /// Half of the runs used at most this part of their time limits, rounded up to a percent.
    pub used_percent_p50: u32,
    /// 95 of 100 runs used at most this part of their time limits, rounded up to a percent.
    pub used_percent_p95: u32,
    /// GPU time that the time limits claimed beyond the runs' ends.
    pub gpu_milliseconds_unused: u64,
    /// CPU time that the time limits claimed beyond the runs' ends.
    pub cpu_milliseconds_unused: u64,
}

/// Time limits compared with run times.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EstimatesView {
    pub since: Time,
    pub until: Time,
    /// The group with the most unused GPU time first, then by unused CPU time.
    pub rows: Vec<EstimatesRow>,
}

/// The states of a node over the period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeUse {
    pub name: NodeName,
    /// The last known number.
    pub gpus: Gpus,
    /// The last known number.
    pub cpus: Cpus,
    /// In use or available.
    pub up: NodeStretch,
    /// Drained by an operator or for its health.
    pub drained: NodeStretch,
    /// Without contact.
    pub down: NodeStretch,
}

/// A part of the period, multiplied by the node's resources at the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodeStretch {
    pub gpu_milliseconds: u64,
    pub cpu_milliseconds: u64,
}

/// The usage, and the capacity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReportView {
    pub since: Time,
    /// The end of the period: as requested, but not later than now.
    pub until: Time,
    /// Sums, most GPU-time first, then most CPU-time. Unfinished runs count with their time so far.
    pub rows: Vec<ReportRow>,
    /// The nodes, each from the time it was first known.
    pub nodes: Vec<NodeUse>,
}
