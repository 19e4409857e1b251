//! The progress of a node's share of an attempt, as the node reports it.

use common::job::{EndCause, ExitStatus};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareNews {
    /// The node prepares it.
    Preparing,
    /// The node is prepared and waits for permission to run it.
    Ready,
    Running,
    /// It ended, and the resources that it held on the node are free.
    Ended(EndCause, ExitStatus),
}
