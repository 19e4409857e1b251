//! The submission of many jobs in one command. What they share is in the log once.

use common::id::{Gid, NodeName, RequestKey};
use common::job::{Ask, Owner};
use serde::{Deserialize, Serialize};

/// Jobs of one user, each accepted or refused on its own. The answer has one
/// [`Event::JobSubmitted`] or [`Event::SubmitRefused`] per job, in the order of the jobs.
///
/// [`Event::JobSubmitted`]: crate::Event::JobSubmitted
/// [`Event::SubmitRefused`]: crate::Event::SubmitRefused
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManyJobs {
    pub owner: Owner,
    /// All groups of the user.
    pub groups: Vec<Gid>,
    /// Whether the user is an operator.
    pub operator: bool,
    /// The node that authenticated the user; `None` if the request came over a controller's own
    /// socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    /// The scripts of the jobs, which refer to them by index.
    pub scripts: Vec<String>,
    /// The environments of the jobs, which refer to them by index. Each holds `NAME=value` pairs,
    /// each terminated by NUL.
    pub environments: Vec<String>,
    pub jobs: Vec<OneOfMany>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OneOfMany {
    /// A repeated key returns the job of the first request.
    pub request_key: RequestKey,
    pub ask: Ask,
    /// Index into [`ManyJobs::scripts`].
    pub script: u32,
    pub environment: u32,
}
