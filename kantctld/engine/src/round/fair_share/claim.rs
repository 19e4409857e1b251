//! The claim of a waiting job on what others hold.

use crate::policy::sharing::taking::Claimant;
use common::job::PreemptReason;

/// For what others are stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub claimant: Claimant,
    pub priority: i64,
    pub why: PreemptReason,
    /// Others may move for it.
    pub may_move: bool,
}

/// Which queues are asked for a reclaim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lose {
    /// Those of which a job may be stopped.
    Stopped,
    /// Also those whose jobs may only move.
    StoppedOrMoved,
}
