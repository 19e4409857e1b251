//! Runs of jobs that are over, as accounting keeps them, and what they add up to. Never a job that
//! still waits or runs, but in a report, where its time so far counts.

use super::JobView;
use crate::id::{NodeName, Uid};
use crate::job::StepRecord;
use crate::time::Time;
use crate::unit::{Cpus, Gpus};
use serde::{Deserialize, Serialize};

/// One run of a job or array task; or one that never ran, and was over while it waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// The job as it was when the run was over; without its story, and without what is bulky (as
    /// in lists). The state of a run whose user asked for a requeue is REQUEUED.
    pub job: JobView,
    /// Which run, from 1: that of the attempt, or the one it would have been.
    pub run: u32,
    /// When it was given its allocation; `None`: it never was.
    #[serde(default)]
    pub allocated_at: Option<Time>,
    /// GPUs times milliseconds, from its allocation to its end; a share of a GPU counts as that.
    #[serde(default)]
    pub gpu_milliseconds: u64,
    /// CPUs times milliseconds.
    #[serde(default)]
    pub cpu_milliseconds: u64,
    /// Its job went back to its queue: other runs follow.
    #[serde(default)]
    pub requeued: bool,
    /// Its steps, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
}

/// Which runs. Every list is names with commas between them; an empty one is no bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryQuery {
    /// Jobs and array tasks: 42,43_7.
    pub jobs: String,
    /// Users, by name or uid.
    pub users: String,
    pub accounts: String,
    pub queues: String,
    /// States as Slurm's words: COMPLETED,FAILED.
    pub states: String,
    /// Over at this time or later; in milliseconds since 1970.
    pub since: Option<Time>,
    /// Over before this time.
    pub until: Option<Time>,
    /// Submitted at this time or earlier.
    pub submitted_until: Option<Time>,
    /// Earlier runs of jobs that were requeued, too.
    pub every_run: bool,
    pub steps: bool,
    /// At most so many; the server has a bound of its own.
    pub limit: Option<u32>,
    /// From there on: what [`HistoryList::next`] was.
    pub after: Option<String>,
}

/// Runs, latest end first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryList {
    /// A page of them.
    pub runs: Vec<HistoryRun>,
    /// Where the next page begins; `None`: that was all.
    pub next: Option<String>,
    /// The controller's time when it looked.
    pub as_of: Time,
}

/// What is to be added up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportQuery {
    /// By what: of user, account, queue, qos, state, gpus, cpus, nodes; with commas.
    pub by: String,
    /// From this time on; in milliseconds since 1970.
    pub since: Time,
    /// Until then; `None`: until now.
    pub until: Option<Time>,
    /// Only of these users, by name or uid.
    pub users: String,
    /// Only of these accounts.
    pub accounts: String,
    /// Only of these queues.
    pub queues: String,
}

/// What some runs used within the time asked about.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportRow {
    /// Whose, where asked by user.
    pub user: Option<String>,
    /// The same, by number.
    pub uid: Option<Uid>,
    /// On whose budget, where asked by account; jobs without one are under "".
    pub account: Option<String>,
    /// Where asked by queue.
    pub queue: Option<String>,
    /// Where asked by QoS.
    pub qos: Option<String>,
    /// Slurm's word, where asked by state.
    pub state: Option<String>,
    /// GPUs of a run, where asked by GPUs.
    pub gpus: Option<u32>,
    /// CPUs of a run, where asked by CPUs.
    pub cpus: Option<u32>,
    /// Nodes of a run, where asked by nodes.
    pub nodes: Option<u32>,
    /// How many runs had some of their time within.
    pub runs: u64,
    /// GPUs times milliseconds, within.
    pub gpu_milliseconds: u64,
    /// CPUs times milliseconds, within.
    pub cpu_milliseconds: u64,
}

/// How a node's time was spent, of the time asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeUse {
    pub name: NodeName,
    /// What it had last.
    pub gpus: Gpus,
    /// What it had last.
    pub cpus: Cpus,
    /// Its time in use or ready for use.
    pub up: NodeStretch,
    /// Its time drained by somebody, or for its health.
    pub drained: NodeStretch,
    /// Its time without contact.
    pub down: NodeStretch,
}

/// Some of a node's time, times what the node had then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeStretch {
    /// GPUs times milliseconds.
    pub gpu_milliseconds: u64,
    /// CPUs times milliseconds.
    pub cpu_milliseconds: u64,
}

/// Who used how much, and how much there was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportView {
    pub since: Time,
    /// Until then: as asked, but never later than now.
    pub until: Time,
    /// Sums, most GPU-time first, then most CPU-time. Runs that are not over count with their time
    /// so far.
    pub rows: Vec<ReportRow>,
    /// The nodes, from when each was first seen.
    pub nodes: Vec<NodeUse>,
}
