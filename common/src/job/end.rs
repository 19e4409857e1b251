//! The end of a job's step on one node, as the node observed it.

use super::StepRecord;
use crate::id::JobKey;
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A process's exit code, or the signal that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExitStatus {
    /// The exit code, 0 to 255; 0 when a signal ended it.
    pub code: u8,
    pub signal: Option<u8>,
}

impl ExitStatus {
    /// Exit code 0 and no signal.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.code == 0 && self.signal.is_none()
    }

    /// The code that a shell shows: 128 plus the signal.
    #[must_use]
    pub const fn shell_code(self) -> u8 {
        match self.signal {
            Some(signal) => 128_u8.saturating_add(signal),
            None => self.code,
        }
    }
}

/// As Slurm shows it: `code:signal`.
impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.code, self.signal.unwrap_or(0)))
    }
}

/// Why a step on a node ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Its processes exited.
    Exited,
    TimedOut,
    /// The controller requested it.
    Stopped,
    OutOfMemory,
    /// It is a replica of a service that failed its liveness probe, or did not start in time.
    NotLive,
    /// It never ran because of the job (directory, output file, interpreter); the message has the
    /// reason.
    LaunchFailed,
    /// It never ran because of the node (spool, cgroup, fork); the message has the reason. It may
    /// run elsewhere.
    NodeFault,
    /// It never ran, either because of the node or because of what jobs used up there (disk space,
    /// process ids); the message has the failure. It may run elsewhere.
    UnclearFault,
    /// The node lost it: the machine rebooted, or the supervisor was killed.
    Lost,
}

/// Why a job was preempted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PreemptReason {
    /// A job with a higher priority in its queue.
    Priority,
    /// Its queue borrowed, and the lending queue needs its quota.
    Reclaim,
    /// It started ahead of its queue's first job, which has waited too long.
    HeadTimeout,
    /// It continues on other nodes, which are reserved for it.
    Move,
}

/// The reason within a sentence: "preempted for job 7 (...)".
impl fmt::Display for PreemptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Priority => "higher priority",
            Self::Reclaim => "quota that was lent",
            Self::HeadTimeout => "at the head of its queue for too long",
            Self::Move => "it has room elsewhere",
        })
    }
}

/// The preemptor of a job, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preempted {
    /// The job or array task that needs the resources.
    pub by: JobKey,
    pub why: PreemptReason,
}

/// The use of a step's GPUs, sampled by the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GpuUsage {
    /// The number of samples, counted per GPU.
    pub samples: u32,
    /// The sum of the samples' utilization, in percent.
    pub busy_percent_sum: u64,
    /// The highest memory use of any one GPU.
    pub memory_peak: Bytes,
    /// The energy of all GPUs, from the first sample to the last.
    pub energy_joules: u64,
}

impl GpuUsage {
    /// The mean utilization of a GPU in percent, rounded down; `None` without samples.
    #[must_use]
    pub fn busy_percent(&self) -> Option<u64> {
        self.busy_percent_sum.checked_div(u64::from(self.samples))
    }

    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            samples: self.samples.saturating_add(more.samples),
            busy_percent_sum: self.busy_percent_sum.saturating_add(more.busy_percent_sum),
            memory_peak: self.memory_peak.max(more.memory_peak),
            energy_joules: self.energy_joules.saturating_add(more.energy_joules),
        }
    }
}

/// The resources that a step used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// CPU time of all processes.
    pub cpu: Span,
    /// Zero where it could not be measured.
    pub memory_peak: Bytes,
    /// Reads from disks, not from the page cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disk_read: Bytes,
    #[serde(default, skip_serializing_if = "is_default")]
    pub disk_written: Bytes,
    /// `None`: it had no GPUs, or they were not sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuUsage>,
}

impl Usage {
    /// The sum with another node's usage, and the maximum of the peaks.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            cpu: self.cpu + more.cpu,
            memory_peak: self.memory_peak.max(more.memory_peak),
            disk_read: Bytes(self.disk_read.0.saturating_add(more.disk_read.0)),
            disk_written: Bytes(self.disk_written.0.saturating_add(more.disk_written.0)),
            gpu: self.gpu.into_iter().chain(more.gpu).reduce(GpuUsage::and),
        }
    }
}

/// The end of a job's step on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepEnd {
    pub cause: EndCause,
    /// The worst exit of its tasks.
    pub exit: ExitStatus,
    /// The start of its first process; `None` if none started.
    pub started_at: Option<Time>,
    /// The time when the node had cleaned up.
    pub ended_at: Time,
    /// How long it was on the node, from its launch to `ended_at`, by a clock that cannot be set.
    /// `None` if the node could not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Span>,
    /// The same since the start of its first process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<Span>,
    #[serde(default)]
    pub usage: Usage,
    /// For users: why a launch failed, or which limit was exceeded.
    #[serde(default)]
    pub message: Option<String>,
    /// The job's steps, the last [`STEPS_REPORTED_MAX`], reported by its first node only.
    ///
    /// [`STEPS_REPORTED_MAX`]: crate::job::STEPS_REPORTED_MAX
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_add_up_and_peaks_do_not() {
        let gpu =
            GpuUsage { samples: 2, busy_percent_sum: 150, memory_peak: Bytes(7), energy_joules: 1 };
        let (cpu, memory_peak) = (Span(3), Bytes(9));
        let one = Usage { cpu, memory_peak, disk_written: Bytes(4), ..Usage::default() };
        let two = Usage { gpu: Some(gpu), memory_peak: Bytes(2), ..one };
        let sum = one.and(two).and(two);
        assert_eq!((sum.cpu, sum.memory_peak, sum.disk_written), (Span(9), Bytes(9), Bytes(12)));
        let gpus = sum.gpu.unwrap();
        assert_eq!((gpus.samples, gpus.memory_peak, gpus.energy_joules), (4, Bytes(7), 2));
        assert_eq!(gpus.busy_percent(), Some(75));
        assert_eq!(GpuUsage::default().busy_percent(), None);
    }

    #[test]
    fn what_was_not_measured_is_not_written() {
        let plain = Usage { cpu: Span(4), memory_peak: Bytes(5), ..Usage::default() };
        let kept = r#"{"cpu":4,"memory_peak":5}"#;
        assert_eq!(serde_json::to_string(&plain).unwrap(), kept);
        assert_eq!(serde_json::from_str::<Usage>(kept).unwrap(), plain);
    }
}
