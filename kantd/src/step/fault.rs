//! Why a step could not be launched, and whose fault that is: the job's own, which follows it to
//! every node, or this node's, which another node may not have. Never says what to do about it.

use common::job::EndCause;
use serde::{Deserialize, Serialize};

/// A launch that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFault {
    /// [`EndCause::LaunchFailed`] or [`EndCause::NodeFault`].
    pub cause: EndCause,
    /// A sentence for people.
    pub message: String,
}

impl LaunchFault {
    /// The job's own: its directory, files, script or user.
    pub fn of_job(message: impl Into<String>) -> Self {
        Self { cause: EndCause::LaunchFailed, message: message.into() }
    }

    /// The node's: its spool, cgroups, processes or user database. The message says so.
    pub fn of_node(message: impl Into<String>) -> Self {
        let message = format!("{}; this is a fault of the node, not of the job", message.into());
        Self { cause: EndCause::NodeFault, message }
    }
}
