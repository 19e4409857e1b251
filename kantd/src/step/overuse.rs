//! A step that shares a GPU and has more of its memory than its share: what it has, and how people
//! are told. Never finds that out (accounting does), and never ends anything (the supervisor does).

use common::id::{GpuIndex, NodeName};
use common::unit::{Bytes, GpuMilli};
use serde::{Deserialize, Serialize};

/// More of a GPU's memory than the step's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuOveruse {
    pub gpu: GpuIndex,
    /// What its processes have there.
    pub used: Bytes,
    /// What they may have.
    pub share: Bytes,
}

impl GpuOveruse {
    /// If `used` is more than this share of a GPU with so much memory. Of a GPU whose memory is
    /// not known nobody has too much.
    #[must_use]
    pub fn of(gpu: GpuIndex, memory: Bytes, share: GpuMilli, used: Bytes) -> Option<Self> {
        let whole = u128::from(GpuMilli::WHOLE.0);
        let share = u128::from(memory.0) * u128::from(share.0) / whole;
        let share = Bytes(u64::try_from(share).unwrap_or(u64::MAX));
        (memory > Bytes::ZERO && used > share).then_some(Self { gpu, used, share })
    }

    /// For the job's user.
    pub fn words(&self, node: &NodeName) -> String {
        let Self { gpu, used, share } = self;
        format!(
            "had {used} of the memory of GPU {gpu} on node {node}, of which its share is {share}: \
             ask for a larger share with --gpus"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_gpu_is_that_share_of_its_memory_to_the_byte() {
        let (gpu, memory) = (GpuIndex(3), Bytes::from_mib(81_920));
        let over = |used| GpuOveruse::of(gpu, memory, GpuMilli(250), used);
        let share = Bytes::from_mib(20_480);
        assert_eq!(over(share), None);
        let used = Bytes(share.0 + 1);
        assert_eq!(over(used), Some(GpuOveruse { gpu, used, share }));
        assert_eq!(GpuOveruse::of(gpu, Bytes::ZERO, GpuMilli(250), used), None);
        let most = Bytes(u64::MAX);
        assert_eq!(GpuOveruse::of(gpu, most, GpuMilli(999), most).unwrap().share.0 >> 54, 1022);
    }
}
