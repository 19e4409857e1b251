//! The classes of job size that waiting times are reported in. Never more precise than thousandths
//! of a GPU.

use common::unit::GpuMilli;

/// Jobs of about one size, by all their GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeClass {
    /// No GPU.
    Cpu,
    /// A part of one.
    Shared,
    /// One.
    One,
    /// Two to seven.
    Some,
    /// Eight: one whole node, as most are built.
    Eight,
    /// Nine to 32.
    Many,
    /// More.
    Most,
}

impl SizeClass {
    /// All, smallest first.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::Shared, Self::One, Self::Some, Self::Eight, Self::Many, Self::Most];

    /// The class of a job with so much of all GPUs together.
    #[must_use]
    pub const fn of(gpus: GpuMilli) -> Self {
        match gpus.0 {
            0 => Self::Cpu,
            1..=999 => Self::Shared,
            1000 => Self::One,
            1001..=7999 => Self::Some,
            8000 => Self::Eight,
            8001..=32_000 => Self::Many,
            _ => Self::Most,
        }
    }

    /// Its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Shared => "frac",
            Self::One => "1",
            Self::Some => "2-7",
            Self::Eight => "8",
            Self::Many => "9-32",
            Self::Most => ">32",
        }
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
