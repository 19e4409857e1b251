//! A failed launch of a step and its cause: the job, which would fail on every node, or this node.

use common::job::EndCause;
use serde::{Deserialize, Serialize};
use std::io;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFault {
    /// [`EndCause::LaunchFailed`], [`EndCause::NodeFault`] or [`EndCause::UnclearFault`].
    pub cause: EndCause,
    pub message: String,
}

impl LaunchFault {
    /// Caused by the job: its directory, files, script or user.
    pub fn of_job(message: impl Into<String>) -> Self {
        Self { cause: EndCause::LaunchFailed, message: message.into() }
    }

    /// Caused by the node: its spool, cgroups or user database, which users cannot affect. The
    /// message says so.
    pub fn of_node(message: impl Into<String>) -> Self {
        let message = format!("{}; this is a fault of the node, not of the job", message.into());
        Self { cause: EndCause::NodeFault, message }
    }

    /// Caused by the node or by jobs of the same user there: one user alone must not be able to
    /// make a node look faulty.
    pub fn unclear(message: impl Into<String>) -> Self {
        let message = format!("{}; it may succeed on another node", message.into());
        Self { cause: EndCause::UnclearFault, message }
    }

    /// Caused by the node, unless a resource is exhausted that jobs may have used up.
    pub fn of_node_or_exhaustion(error: &io::Error, message: impl Into<String>) -> Self {
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
    fn exhausted_resources_are_not_certainly_the_nodes_fault() {
        let cause = |errno: nix::errno::Errno| {
            let error = io::Error::from(errno);
            LaunchFault::of_node_or_exhaustion(&error, "failed to write").cause
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
