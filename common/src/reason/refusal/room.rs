//! Refusals of submissions because their owner or the cluster is at a limit.

use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limit that a submission would exceed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum NoRoom {
    #[error(
        "you have {alive} unfinished jobs and array tasks, and {more} more would exceed the limit \
         of {limit} per user"
    )]
    TooManyJobs {
        /// Unfinished jobs and array tasks.
        alive: u32,
        /// Jobs and array tasks in the submission.
        more: u32,
        limit: u32,
    },
    #[error(
        "the cluster has {alive} unfinished jobs and array tasks, and {more} more would exceed its \
         limit of {limit}"
    )]
    ClusterFull { alive: u32, more: u32, limit: u32 },
    /// The texts of the owner's unfinished jobs are too large.
    #[error(
        "the scripts, environments and arguments of your unfinished jobs take {held}, and {more} \
         more would exceed the limit of {limit} per user"
    )]
    TooMuchText { held: Bytes, more: Bytes, limit: Bytes },
}

impl NoRoom {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooManyJobs { .. } => "too_many_jobs",
            Self::ClusterFull { .. } => "cluster_full",
            Self::TooMuchText { .. } => "too_much_text",
        }
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::TooManyJobs { .. } => "wait until some finish, or cancel some",
            Self::ClusterFull { .. } => "try again when some have finished",
            Self::TooMuchText { .. } => {
                "keep data in files and name the files in the job, wait until some jobs finish, or \
                 cancel some"
            }
        }
    }
}
