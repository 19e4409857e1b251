//! The request for a new size of a running job.

use crate::job::JobSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// POST /v1/jobs/{key}/resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResizeRequest {
    pub size: JobSize,
}
