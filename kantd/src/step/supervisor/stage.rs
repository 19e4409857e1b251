//! The stages of a step.

use super::clean::Cleanup;
use super::end_reason::EndReason;
use crate::step::prepare::{Preparation, Prepared};
use std::time::Instant;

/// The stage of the step. Each iteration of the loop advances it.
pub(super) enum Stage {
    Prolog,
    /// A child looks the user up and opens the files.
    Preparing(Preparation),
    Ready(Prepared),
    /// Not all processes have executed their program yet.
    Starting,
    Running,
    /// A replica that is to end gets no new requests, and answers those that it has until `until`.
    Draining {
        end: EndReason,
        until: Instant,
    },
    /// The processes have SIGTERM, and get SIGKILL at `kill_at`.
    Ending {
        end: EndReason,
        kill_at: Instant,
    },
    /// The processes get SIGKILL, the cgroup is removed, and the end is recorded.
    Cleaning(Cleanup),
    Done,
}

impl Stage {
    /// Whether the step's processes have been asked to end, or have ended.
    pub(super) const fn is_ending_or_over(&self) -> bool {
        matches!(self, Self::Ending { .. } | Self::Cleaning(_) | Self::Done)
    }
}
