//! What is asked of some tasks of an array: a part of what was asked of all of them, so that no
//! entry of the log takes long. Never of another job than an array.

use super::{Actor, Command, Target};
use common::id::{ArrayIndex, JobId};
use common::time::Time;
use serde::{Deserialize, Serialize};

/// Some tasks of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SomeTasks {
    pub job: JobId,
    pub first: ArrayIndex,
    pub last: ArrayIndex,
    /// The last stamp of the log when it was asked of all. What has started since is not requeued:
    /// an earlier part may have made it start.
    pub asked_at: Time,
}

/// What is to become of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steering {
    /// As [`crate::Command::CancelJob`].
    Cancel,
    /// As [`crate::Command::HoldJob`].
    Hold,
    /// As [`crate::Command::ReleaseJob`].
    Release,
    /// As [`crate::Command::RequeueJob`].
    Requeue,
    /// As [`crate::Command::SuspendJob`].
    Suspend,
    /// As [`crate::Command::ResumeJob`].
    Resume,
}

impl Command {
    /// What is asked of each task of a job, of which, and by whom; `None`: it is another command.
    #[must_use]
    pub const fn steering(&self) -> Option<(&Actor, Target, Steering)> {
        Some(match self {
            Self::CancelJob { actor, target } => (actor, *target, Steering::Cancel),
            Self::HoldJob { actor, target } => (actor, *target, Steering::Hold),
            Self::ReleaseJob { actor, target } => (actor, *target, Steering::Release),
            Self::RequeueJob { actor, target } => (actor, *target, Steering::Requeue),
            Self::SuspendJob { actor, target } => (actor, *target, Steering::Suspend),
            Self::ResumeJob { actor, target } => (actor, *target, Steering::Resume),
            _ => return None,
        })
    }
}
