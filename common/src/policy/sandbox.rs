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
    /// What only administrators do: loading kernel modules, setting clocks, rebooting.
    #[default]
    Default,
    /// Also what containers, mounts and profilers need; setuid programs gain no rights, and 32-bit
    /// programs do not run.
    Strict,
}
