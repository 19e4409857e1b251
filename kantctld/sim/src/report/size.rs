//! The classes of job size that waiting times are reported in: the engine's, by name. Never more
//! precise than thousandths of a GPU.

use common::unit::GpuMilli;
use engine::measure::{SIMULATE_SIZES, size_of};

/// Jobs of about one size, by all their GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeClass {
    Cpu,
    /// A part of one.
    Shared,
    One,
    Some,
    /// Eight: one whole node, as most are built.
    Eight,
    /// Nine to 32.
    Many,
    Most,
}

impl SizeClass {
    /// All, smallest first, as the engine has them.
    pub const ALL: [Self; SIMULATE_SIZES.len()] =
        [Self::Cpu, Self::Shared, Self::One, Self::Some, Self::Eight, Self::Many, Self::Most];

    /// The class of a job with so much of all GPUs together.
    #[must_use]
    pub fn of(gpus: GpuMilli) -> Self {
        Self::ALL[size_of(&SIMULATE_SIZES, gpus)]
    }

    /// Its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        SIMULATE_SIZES[self as usize].name
    }

    /// Is it reported even if it has no jobs?
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
