//! What the kernel refuses the processes of a job, beyond what their user may not do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sandbox of the jobs of a queue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// Nothing is refused.
    Off,
    /// What no job needs: loading kernel modules, changing the clock, raw devices.
    #[default]
    Default,
    /// Also what only administrators, containers and profilers need; setuid programs gain no
    /// rights.
    Strict,
}
