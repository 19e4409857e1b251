//! A step that uses more of a shared GPU's memory than its share: the amounts and the message.
//! Accounting finds it, and the supervisor ends the step.

use common::id::{GpuIndex, NodeName};
use common::unit::{Bytes, GpuMilli};
use serde::{Deserialize, Serialize};

/// Use of more of a GPU's memory than the step's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuOveruse {
    pub gpu: GpuIndex,
    /// What its processes use.
    pub used: Bytes,
    /// What they may use.
    pub share: Bytes,
}

impl GpuOveruse {
    /// The overuse, if `used` exceeds this share of a GPU with this memory; none if the memory is
    /// unknown.
    #[must_use]
    pub fn from_usage(gpu: GpuIndex, memory: Bytes, share: GpuMilli, used: Bytes) -> Option<Self> {
        let whole = u128::from(GpuMilli::WHOLE.0);
        let share = u128::from(memory.0) * u128::from(share.0) / whole;
        let share = Bytes(u64::try_from(share).unwrap_or(u64::MAX));
        (memory > Bytes::ZERO && used > share).then_some(Self { gpu, used, share })
    }

    /// The message for the job's user.
    pub fn words(&self, node: &NodeName) -> String {
        let Self { gpu, used, share } = self;
        format!(
            "used {used} of the memory of GPU {gpu} on node {node}, where its share is {share}: \
             ask for a larger share with --gpus"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_gpu_is_that_share_of_its_memory_to_the_byte() {
        let (gpu, memory) = (GpuIndex(3), Bytes::from_mib(81_920));
        let over = |used| GpuOveruse::from_usage(gpu, memory, GpuMilli(250), used);
        let share = Bytes::from_mib(20_480);
        assert_eq!(over(share), None);
        let used = Bytes(share.0 + 1);
        assert_eq!(over(used), Some(GpuOveruse { gpu, used, share }));
        assert_eq!(GpuOveruse::from_usage(gpu, Bytes::ZERO, GpuMilli(250), used), None);
        let most = Bytes(u64::MAX);
        assert_eq!(
            GpuOveruse::from_usage(gpu, most, GpuMilli(999), most).unwrap().share.0 >> 54,
            1022
        );
    }
}
