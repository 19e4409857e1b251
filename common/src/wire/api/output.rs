//! A part of a job's output, as an event of a stream.

use serde::{Deserialize, Serialize};

/// The data of a server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputEvent {
    /// The offset of the byte after this part: the place to continue from.
    pub offset: u64,
    /// Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// The job has ended, and this was all of its output.
    pub ended: bool,
}
