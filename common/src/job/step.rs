//! A step of a job as accounting keeps it: what one `srun` or `kantctl run` started in it.

use super::ExitStatus;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The end of a job reports at most this many steps: the last ones.
pub const STEPS_TOLD_MAX: usize = 256;

/// A step, for accounting and lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its number in the job.
    pub number: u32,
    /// Its name: usually the program's.
    pub name: String,
    /// Its nodes, folded: `g-[001-004]`; of many that do not fold the first, and `...`.
    pub nodes: String,
    /// How many they are.
    pub node_count: u32,
    pub tasks: u32,
    /// CPUs, on all its nodes.
    pub cpus: u32,
    /// GPUs, on all its nodes; `None`: all that its job has there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// Since when, by the clock of the job's first node.
    pub started_at: Time,
    /// Until when; `None`: it runs.
    #[serde(default)]
    pub ended_at: Option<Time>,
    /// How it ended: the worst of its tasks.
    #[serde(default)]
    pub exit: Option<ExitStatus>,
    /// It did not end by itself: its job was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
}

impl StepRecord {
    /// How long it ran, until now if it does.
    #[must_use]
    pub fn elapsed(&self, now: Time) -> Span {
        self.ended_at.unwrap_or(now).since(self.started_at)
    }
}
