//! The GPUs of leaf groups, for the fewest groups that a job could have used. The ideal is that of
//! an empty cluster.

use common::unit::{GpuMilli, Gpus};

/// The sizes of all leaf groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeafSizes {
    /// At `n - 1`: the GPUs of the `n` largest groups together.
    of_largest: Vec<u64>,
}

impl LeafSizes {
    /// Groups with these GPUs, in any order.
    #[must_use]
    pub fn of(sizes: impl Iterator<Item = Gpus>) -> Self {
        let mut of_largest: Vec<u64> = sizes.map(|size| u64::from(size.0)).collect();
        of_largest.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        for size in &mut of_largest {
            sum += *size;
            *size = sum;
        }
        Self { of_largest }
    }

    /// The fewest groups that have as many GPUs together. `None`: all of them have too few.
    #[must_use]
    pub fn fewest(&self, gpus: GpuMilli) -> Option<u32> {
        let wanted = u64::from(gpus.0.div_ceil(1000));
        let fewest = self.of_largest.partition_point(|gpus| *gpus < wanted) + 1;
        (fewest <= self.of_largest.len()).then(|| u32::try_from(fewest).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_groups_hold_a_job_in_the_fewest() {
        let sizes = LeafSizes::of([8, 32, 16].map(Gpus).into_iter());
        let fewest = |gpus| sizes.fewest(GpuMilli(gpus));
        assert_eq!((fewest(1), fewest(32_000), fewest(33_000)), (Some(1), Some(1), Some(2)));
        assert_eq!((fewest(56_000), fewest(57_000)), (Some(3), None));
        assert_eq!(LeafSizes::default().fewest(GpuMilli(1)), None);
    }
}
