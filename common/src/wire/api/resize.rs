//! Another size for a job that runs. Never whether it may have that.

use crate::job::JobSize;
use serde::{Deserialize, Serialize};

/// POST /v1/jobs/{key}/resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeRequest {
    /// How large it is to be.
    pub size: JobSize,
}
