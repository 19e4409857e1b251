//! What can be wrong with a node, what it means for its jobs, and why a node is drained: typed, so
//! that policy decides by kind and not by wording. Never looks at the machine; kantd does.

use serde::{Deserialize, Serialize};

/// What was looked at and found wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A GPU does not answer any more: fallen off the bus.
    GpuLost,
    /// The driver reported an XID that means broken hardware.
    GpuXid,
    /// Uncorrectable errors in a GPU's memory since its driver was loaded.
    GpuEcc,
    /// A row of a GPU's memory waits for a reset to be replaced, or could not be.
    GpuRows,
    /// An `NVLink` that was up is down.
    GpuLink,
    /// A GPU is slowed down because it is hot or lacks power.
    GpuThrottled,
    /// The driver does not answer at all.
    GpuDriver,
    /// A disk that kantd or jobs need is nearly full.
    DiskFull,
    /// A disk that kantd needs cannot be written.
    ReadOnly,
    /// Uncorrectable errors in the machine's own memory (EDAC).
    MemoryErrors,
    /// The site's own check failed.
    Script,
    /// The prolog or the epilog of a job failed.
    Hook,
    /// Processes of a job that kantd knows nothing of: its record of the job was lost.
    Orphans,
}

impl Check {
    pub const ALL: [Self; 13] = [
        Self::GpuLost,
        Self::GpuXid,
        Self::GpuEcc,
        Self::GpuRows,
        Self::GpuLink,
        Self::GpuThrottled,
        Self::GpuDriver,
        Self::DiskFull,
        Self::ReadOnly,
        Self::MemoryErrors,
        Self::Script,
        Self::Hook,
        Self::Orphans,
    ];

    /// The word in configuration and in reasons.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::GpuLost => "gpu_lost",
            Self::GpuXid => "gpu_xid",
            Self::GpuEcc => "gpu_ecc",
            Self::GpuRows => "gpu_rows",
            Self::GpuLink => "gpu_link",
            Self::GpuThrottled => "gpu_throttled",
            Self::GpuDriver => "gpu_driver",
            Self::DiskFull => "disk_full",
            Self::ReadOnly => "read_only",
            Self::MemoryErrors => "memory_errors",
            Self::Script => "script",
            Self::Hook => "hook",
            Self::Orphans => "orphans",
        }
    }

    /// The check of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.word() == word)
    }

    /// Does it stay until somebody has seen to it? The others come and go by themselves.
    #[must_use]
    pub const fn is_lasting(self) -> bool {
        match self {
            Self::GpuLost
            | Self::GpuXid
            | Self::GpuEcc
            | Self::GpuRows
            | Self::MemoryErrors
            | Self::Hook => true,
            Self::GpuLink
            | Self::GpuThrottled
            | Self::GpuDriver
            | Self::DiskFull
            | Self::ReadOnly
            | Self::Script
            | Self::Orphans => false,
        }
    }
}

/// What is done about a finding, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// It is shown, and nothing else.
    Warn,
    /// No new job starts there; those that run go on.
    Drain,
    /// As `Drain`, and its jobs end there and start again elsewhere, where they may.
    DrainNow,
}

/// One thing that is wrong with a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of thing.
    pub check: Check,
    /// Of what, and in which way: `GPU 3: XID 79: fallen off the bus`.
    pub says: String,
    /// What is to be done, by the node's configuration.
    pub response: Response,
}

/// Why a node is drained, for programs; [`crate::node::Drain::reason`] is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrainCause {
    /// An operator said so.
    #[default]
    Operator,
    /// Jobs could not be started there.
    FailedStarts,
    /// The node itself found something wrong.
    Health(Check),
    /// What was wrong came back too often: only an operator ends this.
    Flapping(Check),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_written_by_its_word_and_every_one_is_listed_once() {
        for (place, check) in Check::ALL.into_iter().enumerate() {
            assert_eq!(check as usize, place);
            let written = serde_json::to_value(check).unwrap();
            assert_eq!(written, serde_json::Value::from(check.word()));
        }
    }

    #[test]
    fn responses_rank_from_least_to_most() {
        assert!(Response::Warn < Response::Drain && Response::Drain < Response::DrainNow);
    }
}
