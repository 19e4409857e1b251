//! How a job's share on a node ended, as the node saw it. Never judges; `state` does.

use super::StepRecord;
use crate::id::JobKey;
use crate::time::{Span, Time};
use crate::unit::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A process's exit: a code, or the signal that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExitStatus {
    /// The exit code, 0 to 255; 0 when a signal ended it.
    pub code: u8,
    /// The signal that ended it.
    pub signal: Option<u8>,
}

impl ExitStatus {
    /// Exit code 0 and no signal.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.code == 0 && self.signal.is_none()
    }

    /// The code a shell would show: 128 plus the signal.
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

/// Why a step on a node is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Its processes exited by themselves.
    Exited,
    /// The node ended it at its time limit.
    TimedOut,
    /// The controller asked for it.
    Stopped,
    /// The kernel killed it for exceeding its memory.
    OutOfMemory,
    /// It never ran, for a reason of its own (directory, output file, interpreter); the message
    /// says which.
    LaunchFailed,
    /// It never ran, for a reason of the node's (spool, cgroup, fork); the message says which. It
    /// may run elsewhere.
    NodeFault,
    /// It never ran, and the node may be why, or what jobs used up there (room on a disk, process
    /// numbers); the message says what failed. It may run elsewhere.
    UnclearFault,
    /// The node lost it: the machine rebooted, or its supervisor was killed.
    Lost,
}

/// Why a job was made to yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptReason {
    /// A job of higher priority in its queue.
    Priority,
    /// Its queue borrowed, and the lender wants it back.
    Reclaim,
    /// It passed the first job of its queue, which has waited too long.
    HeadTimeout,
    /// It goes on elsewhere: a place is kept for it.
    Move,
}

/// As it stands in a sentence: "made to yield to job 7 (...)".
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

/// For whom a job was made to yield, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preempted {
    /// The job or array task that needs the room.
    pub by: JobKey,
    pub why: PreemptReason,
}

/// What a step's GPUs did, as far as the node looked at them now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuUsage {
    /// How many looks there were, each GPU counted by itself.
    pub samples: u32,
    /// How busy they were, in percent of the time, added up over all looks.
    pub busy_percent_sum: u64,
    /// The most memory in use at once on one of them.
    pub memory_peak: Bytes,
    /// What they used together, from the first look to the last.
    pub energy_joules: u64,
}

impl GpuUsage {
    /// How busy a GPU was on average, in percent, rounded down. `None`: nobody looked.
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

/// What a step used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time of all its processes.
    pub cpu: Span,
    /// The most memory it held at once; zero where it could not be measured.
    pub memory_peak: Bytes,
    /// What its processes had read from disks: not what the machine had in its memory.
    #[serde(default, skip_serializing_if = "Bytes::is_zero")]
    pub disk_read: Bytes,
    /// What they had written to disks.
    #[serde(default, skip_serializing_if = "Bytes::is_zero")]
    pub disk_written: Bytes,
    /// Its GPUs; `None`: it had none, or nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuUsage>,
}

impl Usage {
    /// With another node's: what adds up is added up, of peaks the highest stays.
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

/// The end of a job's share on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnd {
    pub cause: EndCause,
    /// The worst exit among its tasks.
    pub exit: ExitStatus,
    /// When its first process ran; `None` if none did.
    pub started_at: Option<Time>,
    /// When the node had cleaned up.
    pub ended_at: Time,
    #[serde(default)]
    pub usage: Usage,
    /// For people: why a launch failed, what was over the limit.
    #[serde(default)]
    pub message: Option<String>,
    /// What steps the job had, told by its first node alone: the last [`STEPS_TOLD_MAX`].
    ///
    /// [`STEPS_TOLD_MAX`]: crate::job::STEPS_TOLD_MAX
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
