//! What a node said of its share. Never says what that means for the job.

use common::job::{EndCause, ExitStatus};
use serde::{Deserialize, Serialize};

/// How far a node's share of an attempt came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareNews {
    /// The node prepares it.
    Preparing,
    /// The node waits for the word to run.
    Ready,
    Running,
    /// It is over there, and that node's resources are free.
    Ended(EndCause, ExitStatus),
}
