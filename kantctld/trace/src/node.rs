//! A node of a cluster file.

use super::CpuMilli;
use common::unit::Gpus;

/// One node, in the order of the file: ties and first fit go to the earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub gpus: Gpus,
    /// Their model, if known.
    pub gpu_model: Option<String>,
    /// Its CPUs. `None`: unknown or unlimited.
    pub cpus: Option<CpuMilli>,
    /// Its memory in MiB. `None`: unknown or unlimited.
    pub mem_mib: Option<u64>,
    /// Its leaf switch.
    pub leaf: Option<String>,
    /// The spine switch above that.
    pub spine: Option<String>,
    /// The core switch above that.
    pub core: Option<String>,
}
