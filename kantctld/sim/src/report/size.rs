//! The size classes in which waiting times are reported: the engine's, as an enum.

use common::unit::GpuMilli;
use engine::measure::{SIMULATE_SIZES, size_of};

/// Jobs of about one size, by the total of their GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeClass {
    Cpu,
    /// A share of one GPU.
    Shared,
    One,
    Some,
    /// Eight: one typical whole node.
    Eight,
    /// Nine to 32.
    Many,
    Most,
}

impl SizeClass {
    /// All, smallest first, in the engine's order.
    pub const ALL: [Self; SIMULATE_SIZES.len()] =
        [Self::Cpu, Self::Shared, Self::One, Self::Some, Self::Eight, Self::Many, Self::Most];

    /// The class of a job with this total of GPUs.
    #[must_use]
    pub fn of(gpus: GpuMilli) -> Self {
        Self::ALL[size_of(&SIMULATE_SIZES, gpus)]
    }

    /// Its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        SIMULATE_SIZES[self as usize].name
    }

    /// Whether it is reported even without jobs.
    #[must_use]
    pub const fn is_always_shown(self) -> bool {
        !matches!(self, Self::Cpu | Self::Shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_without_gap_or_overlap() {
        let names = |gpus: &[u32]| -> Vec<&str> {
            gpus.iter().map(|milli| SizeClass::of(GpuMilli(*milli)).name()).collect()
        };
        assert_eq!(names(&[0, 1, 999, 1000]), ["cpu", "frac", "frac", "1"]);
        assert_eq!(names(&[2000, 7000, 8000]), ["2-7", "2-7", "8"]);
        assert_eq!(names(&[9000, 32_000, 33_000, u32::MAX]), ["9-32", "9-32", ">32", ">32"]);
    }
}
