//! How a job's share on a node ended, as the node saw it. Never judges; `state` does.

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
}

/// As it stands in a sentence: "made to yield to job 7 (...)".
impl fmt::Display for PreemptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Priority => "higher priority",
            Self::Reclaim => "quota that was lent",
            Self::HeadTimeout => "at the head of its queue for too long",
        })
    }
}

/// For whom a job was made to yield, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preempted {
    /// The job or array task that needs the room.
    pub by: JobKey,
    /// Why.
    pub why: PreemptReason,
}

/// What a step used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time of all its processes.
    pub cpu: Span,
    /// The most memory it held at once; zero where it could not be measured.
    pub memory_peak: Bytes,
}

/// The end of a job's share on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnd {
    /// Why.
    pub cause: EndCause,
    /// The worst exit among its tasks.
    pub exit: ExitStatus,
    /// When its first process ran; `None` if none did.
    pub started_at: Option<Time>,
    /// When the node had cleaned up.
    pub ended_at: Time,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// For people: why a launch failed, what was over the limit.
    #[serde(default)]
    pub message: Option<String>,
}
