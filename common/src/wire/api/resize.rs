//! The request for a new size of a running job.

use crate::job::JobSize;
use serde::{Deserialize, Serialize};

/// POST /v1/jobs/{key}/resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeRequest {
    pub size: JobSize,
}
