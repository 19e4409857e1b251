//! Why a step could not be launched, and whose fault that is: the job's own, which follows it to
//! every node, or this node's, which another node may not have. Never says what to do about it.

use common::job::EndCause;
use serde::{Deserialize, Serialize};
use std::io;

/// A launch that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFault {
    /// [`EndCause::LaunchFailed`], [`EndCause::NodeFault`] or [`EndCause::UnclearFault`].
    pub cause: EndCause,
    /// A sentence for people.
    pub message: String,
}

impl LaunchFault {
    /// The job's own: its directory, files, script or user.
    pub fn of_job(message: impl Into<String>) -> Self {
        Self { cause: EndCause::LaunchFailed, message: message.into() }
    }

    /// The node's: its spool, cgroups or user database, in which no user has a part. The message
    /// says so.
    pub fn of_node(message: impl Into<String>) -> Self {
        let message = format!("{}; this is a fault of the node, not of the job", message.into());
        Self { cause: EndCause::NodeFault, message }
    }

    /// The node's, or that of what jobs of the same user did there: one user alone must not be able
    /// to make a node look sick.
    pub fn unclear(message: impl Into<String>) -> Self {
        let message = format!("{}; another node may do better", message.into());
        Self { cause: EndCause::UnclearFault, message }
    }

    /// The node's, unless it is out of what jobs may have used up.
    pub fn of_node_or_want(error: &io::Error, message: impl Into<String>) -> Self {
        use io::ErrorKind::{OutOfMemory, QuotaExceeded, StorageFull, WouldBlock};
        match error.kind() {
            OutOfMemory | QuotaExceeded | StorageFull | WouldBlock => Self::unclear(message),
            _ => Self::of_node(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jobs_may_have_used_up_is_not_the_nodes_fault_for_certain() {
        let cause = |errno: nix::errno::Errno| {
            let error = io::Error::from(errno);
            LaunchFault::of_node_or_want(&error, "failed to write").cause
        };
        use nix::errno::Errno::{EAGAIN, EDQUOT, EIO, ENOMEM, ENOSPC, ENOTDIR};
        for errno in [EAGAIN, EDQUOT, ENOMEM, ENOSPC] {
            assert_eq!(cause(errno), EndCause::UnclearFault, "{errno}");
        }
        for errno in [EIO, ENOTDIR] {
            assert_eq!(cause(errno), EndCause::NodeFault, "{errno}");
        }
    }
}
