//! Health findings of a node, the response to them, and the cause of a drain: typed, so that policy
//! depends on the kind and not on the wording.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A GPU no longer responds: it has fallen off the bus.
    GpuLost,
    /// The driver reported an XID that indicates broken hardware.
    GpuXid,
    /// Uncorrectable errors in a GPU's memory since its driver was loaded.
    GpuEcc,
    /// A row of a GPU's memory needs a reset to be remapped, or could not be remapped.
    GpuRows,
    /// An `NVLink` that was up is down.
    GpuLink,
    /// A GPU runs slower because of heat or lack of power.
    GpuThrottled,
    /// The driver does not respond.
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
    /// Processes of a job that kantd has no record of.
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

    /// The name in configuration and in reasons.
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

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.word() == word)
    }

    /// Does a finding of this kind last until an operator acts? The others end by themselves.
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

/// The response to a finding, from least to most.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// It is only displayed.
    Warn,
    /// No new job starts on the node; running jobs continue.
    Drain,
    /// As `Drain`, and the node's jobs end there and, if they may, restart elsewhere.
    DrainNow,
}

/// A problem of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub check: Check,
    /// The details: `GPU 3: XID 79: fallen off the bus`.
    pub says: String,
    /// The response, from the node's configuration.
    pub response: Response,
}

/// The cause of a drain, for programs; [`crate::node::Drain::reason`] is for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrainCause {
    #[default]
    Operator,
    /// Jobs failed to start on the node.
    FailedStarts,
    /// The node reported a finding.
    Health(Check),
    /// A finding recurred too often: only an operator ends this drain.
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
