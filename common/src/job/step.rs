//! Records of a job's steps for accounting: one for each `srun` or `kantctl run` in the job.

use super::ExitStatus;
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of steps in the end report of a job: the last ones are kept.
pub const STEPS_REPORTED_MAX: usize = 256;

/// A step, for accounting and lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecord {
    pub number: u32,
    /// Usually the program's name.
    pub name: String,
    /// The folded node list, `g-[001-004]`; if it does not fold and is long, the first node and
    /// `...`.
    pub nodes: String,
    pub node_count: u32,
    pub tasks: u32,
    /// On all its nodes.
    pub cpus: u32,
    /// On all its nodes; `None`: all GPUs of its job there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// By the clock of the job's first node.
    pub started_at: Time,
    /// `None`: it still runs.
    #[serde(default)]
    pub ended_at: Option<Time>,
    /// The worst exit of its tasks.
    #[serde(default)]
    pub exit: Option<ExitStatus>,
    /// The end of the job ended it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cut_off: bool,
}

impl StepRecord {
    /// The run time, up to `now` if it still runs.
    #[must_use]
    pub fn elapsed(&self, now: Time) -> Span {
        self.ended_at.unwrap_or(now).since(self.started_at)
    }
}
