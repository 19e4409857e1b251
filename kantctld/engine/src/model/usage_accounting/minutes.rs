//! The GPU-minutes that running jobs may still use by their time limits, at any time, without a
//! walk over the jobs. Jobs without a time limit and jobs past their end do not count.
//!
//! Source: man sacctmgr, GrpTRESRunMins.
//! Reads: GPUs and ends. Knobs: none.
//!
//! The sum of `gpus x (end - now)` is `sum of gpus x end` less `now x sum of gpus`, so two numbers
//! are enough. The few jobs past their end would count below zero and are corrected to zero.
//!
//! Example, two nodes, at minute 10. Job 1 has 8 GPUs until minute 70: 480 left. Job 2 has 4 until
//! minute 40: 120 left. Job 3 has 8 until minute 5 and is still being killed: none. In all 600.

use common::time::Time;
use std::collections::BTreeMap;

/// The units (thousandths of a GPU times milliseconds) in a GPU-minute.
pub(super) const PER_MINUTE: u128 = 1000 * 60_000;

/// What running jobs may still use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Minutes {
    /// Thousandths of GPUs by end; none is zero.
    by_end: BTreeMap<Time, u64>,
    gpu_milli: u64,
    gpu_milli_end_ms: u128,
}

impl Minutes {
    /// Adds GPUs that are in use until `end`.
    pub fn add(&mut self, gpu_milli: u64, end: Time) {
        if gpu_milli > 0 {
            let at = self.by_end.entry(end).or_default();
            *at = at.wrapping_add(gpu_milli);
            self.gpu_milli = self.gpu_milli.wrapping_add(gpu_milli);
            self.gpu_milli_end_ms = self.gpu_milli_end_ms.wrapping_add(product(gpu_milli, end));
        }
    }

    /// Takes back one [`Self::add`].
    pub fn remove(&mut self, gpu_milli: u64, end: Time) {
        if gpu_milli > 0 {
            let at = self.by_end.entry(end).or_default();
            *at = at.wrapping_sub(gpu_milli);
            if *at == 0 {
                self.by_end.remove(&end);
            }
            self.gpu_milli = self.gpu_milli.wrapping_sub(gpu_milli);
            self.gpu_milli_end_ms = self.gpu_milli_end_ms.wrapping_sub(product(gpu_milli, end));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_end.is_empty()
    }

    /// What is left at this time, in thousandths of a GPU times milliseconds.
    pub fn left(&self, now: Time) -> u128 {
        let late = self.by_end.range(..now).map(|(end, gpus)| product(*gpus, Time(now.0 - end.0)));
        let late: u128 = late.sum();
        (self.gpu_milli_end_ms + late).saturating_sub(product(self.gpu_milli, now))
    }
}

fn product(gpu_milli: u64, time: Time) -> u128 {
    u128::from(gpu_milli) * u128::from(time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn minute(minute: u64) -> Time {
        Time(minute * 60_000)
    }

    #[test]
    fn the_example() {
        let mut minutes = Minutes::default();
        minutes.add(8_000, minute(70));
        minutes.add(4_000, minute(40));
        minutes.add(8_000, minute(5));
        assert_eq!(minutes.left(minute(10)), 600 * PER_MINUTE);
        minutes.remove(8_000, minute(70));
        assert_eq!(minutes.left(minute(10)), 120 * PER_MINUTE);
        assert_eq!(minutes.left(minute(50)), 0);
    }
}
