//! Why nothing more is accepted: its owner, or the cluster, has too much of it already. Never
//! counts anything; the state does.

use crate::unit::Bytes;
use serde::{Deserialize, Serialize};

/// What there is too much of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum NoRoom {
    /// Its owner has too many already.
    #[error(
        "you have {alive} jobs and array tasks that are not done, and {more} more would be over \
         the limit of {limit} for each user: wait until some are done, or cancel some"
    )]
    TooManyJobs {
        /// How many are not done.
        alive: u32,
        /// How many more were asked for.
        more: u32,
        /// The most a user may have.
        limit: u32,
    },
    /// The cluster has too many already.
    #[error(
        "the cluster has {alive} jobs and array tasks that are not done, and {more} more would be \
         over its limit of {limit}: try again when some are done"
    )]
    ClusterFull {
        /// How many are not done.
        alive: u32,
        /// How many more were asked for.
        more: u32,
        /// The most there may be.
        limit: u32,
    },
    /// Its owner's jobs bring too many bytes already.
    #[error(
        "the scripts, environments and arguments of your jobs that are not done take {held}, and \
         {more} more would be over the limit of {limit} for each user: keep data in files and name \
         those in the job, wait until some jobs are done, or cancel some"
    )]
    TooMuchText {
        held: Bytes,
        /// What would come on top.
        more: Bytes,
        /// The most that a user may have.
        limit: Bytes,
    },
}

impl NoRoom {
    /// A stable word for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooManyJobs { .. } => "too_many_jobs",
            Self::ClusterFull { .. } => "cluster_full",
            Self::TooMuchText { .. } => "too_much_text",
        }
    }
}
