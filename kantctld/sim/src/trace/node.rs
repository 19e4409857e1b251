//! A node of a cluster file. Never more than a scheduler needs to know before it starts.

use super::CpuMilli;
use common::unit::Gpus;

/// One node, in the order of the file: ties and first-fit go to the earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub gpus: Gpus,
    /// Their model, if known.
    pub gpu_model: Option<String>,
    /// Its CPUs; nothing for unknown or unlimited.
    pub cpus: Option<CpuMilli>,
    /// Its memory in MiB; nothing for unknown or unlimited.
    pub mem_mib: Option<u64>,
    /// The leaf switch it hangs on.
    pub leaf: Option<String>,
    /// The spine above that.
    pub spine: Option<String>,
    /// The core above that.
    pub core: Option<String>,
}
