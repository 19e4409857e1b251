//! A command to some tasks of an array. A command to all tasks of an array is split into such
//! parts, so that no log entry takes long to apply.

use super::{Actor, Command, Target};
use common::id::{ArrayIndex, JobId};
use common::right::{JobAction, Right};
use common::time::Time;
use serde::{Deserialize, Serialize};

/// A range of tasks of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SomeTasks {
    pub job: JobId,
    pub first: ArrayIndex,
    pub last: ArrayIndex,
    /// The last stamp of the log when the whole array was addressed. Tasks that started later are
    /// not requeued: an earlier part may have made them start.
    pub asked_at: Time,
}

/// The commands that can be split into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BulkAction {
    /// Like [`crate::Command::CancelJob`].
    Cancel,
    /// Like [`crate::Command::HoldJob`].
    Hold,
    /// Like [`crate::Command::ReleaseJob`].
    Release,
    /// Like [`crate::Command::RequeueJob`].
    Requeue,
    /// Like [`crate::Command::SuspendJob`].
    Suspend,
    /// Like [`crate::Command::ResumeJob`].
    Resume,
}

impl BulkAction {
    /// What it needs.
    #[must_use]
    pub const fn right(self) -> Right {
        match self {
            Self::Cancel => JobAction::Cancel,
            Self::Hold => JobAction::Hold,
            Self::Release => JobAction::Release,
            Self::Requeue => JobAction::Requeue,
            Self::Suspend => JobAction::Suspend,
            Self::Resume => JobAction::Resume,
        }
        .right()
    }
}

impl Command {
    /// The actor, the target and the kind of this command; `None` if it cannot be split into parts.
    #[must_use]
    pub const fn bulk_action(&self) -> Option<(&Actor, Target, BulkAction)> {
        Some(match self {
            Self::CancelJob { actor, target } => (actor, *target, BulkAction::Cancel),
            Self::HoldJob { actor, target } => (actor, *target, BulkAction::Hold),
            Self::ReleaseJob { actor, target } => (actor, *target, BulkAction::Release),
            Self::RequeueJob { actor, target } => (actor, *target, BulkAction::Requeue),
            Self::SuspendJob { actor, target } => (actor, *target, BulkAction::Suspend),
            Self::ResumeJob { actor, target } => (actor, *target, BulkAction::Resume),
            _ => return None,
        })
    }
}
