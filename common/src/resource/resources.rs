//! CPUs, memory and GPUs as one amount, so that they are compared, added and subtracted together.

use crate::unit::{Bytes, Cpus, Gpus};

/// CPUs, memory and whole GPUs: of one part of a job, of a job, or of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    pub cpus: Cpus,
    pub memory: Bytes,
    pub gpus: Gpus,
}

impl Resources {
    /// The sum; each amount is at most the largest that its type holds.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpus: self.cpus + other.cpus,
            memory: self.memory + other.memory,
            gpus: self.gpus + other.gpus,
        }
    }

    /// Whether there is no more of any resource than in `other`.
    #[must_use]
    pub fn fits_in(&self, other: &Self) -> bool {
        self.cpus <= other.cpus && self.memory <= other.memory && self.gpus <= other.gpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_stops_at_the_largest_amount() {
        let one = Resources { cpus: Cpus(1), memory: Bytes(2), gpus: Gpus(3) };
        let most = Resources { memory: Bytes(u64::MAX), ..one };
        assert_eq!(one.plus(one), Resources { cpus: Cpus(2), memory: Bytes(4), gpus: Gpus(6) });
        assert_eq!(most.plus(one).memory, Bytes(u64::MAX));
    }

    #[test]
    fn what_exceeds_one_resource_does_not_fit() {
        let of = |cpus, memory, gpus| Resources {
            cpus: Cpus(cpus),
            memory: Bytes(memory),
            gpus: Gpus(gpus),
        };
        let all = of(2, 3, 4);
        assert!(all.fits_in(&all) && of(0, 3, 1).fits_in(&all));
        for more in [of(3, 0, 0), of(0, 4, 0), of(0, 0, 5)] {
            assert!(!more.fits_in(&all), "{more:?}");
        }
    }
}
