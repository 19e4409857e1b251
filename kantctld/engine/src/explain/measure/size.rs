//! Size classes of jobs, by the total of their GPUs, for reports of waiting times.

use common::unit::GpuMilli;

/// Jobs of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The name in tables and JSON.
    pub name: &'static str,
    /// The smallest total of GPUs. The class ends at the next one.
    from: GpuMilli,
}

const fn size(name: &'static str, from: u32) -> Size {
    Size { name, from: GpuMilli(from) }
}

/// The classes in which Kant (arXiv 2510.01256) reports waits, and those for jobs without GPUs and
/// with a share of one.
pub const KANT_SIZES: [Size; 9] = [
    size("0", 0),
    size("<1", 1),
    size("1", 1000),
    size("2-7", 1001),
    size("8", 8000),
    size("9-63", 8001),
    size("64-255", 63_001),
    size("256-1023", 255_001),
    size(">=1024", 1_023_001),
];

/// The classes that `kant-sim simulate` reports.
pub const SIMULATE_SIZES: [Size; 7] = [
    size("cpu", 0),
    size("frac", 1),
    size("1", 1000),
    size("2-7", 1001),
    size("8", 8000),
    size("9-32", 8001),
    size(">32", 32_001),
];

/// The index of the class of a job with this total of GPUs.
#[must_use]
pub fn size_of(sizes: &[Size], gpus: GpuMilli) -> usize {
    sizes.partition_point(|size| size.from <= gpus).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_has_the_size_that_its_name_says() {
        let name = |gpus: u32| KANT_SIZES[size_of(&KANT_SIZES, GpuMilli(gpus))].name;
        assert_eq!([0, 1, 999, 1000].map(name), ["0", "<1", "<1", "1"]);
        assert_eq!([2000, 7000, 8000, 9000].map(name), ["2-7", "2-7", "8", "9-63"]);
        assert_eq!([63_000, 64_000, 255_000].map(name), ["9-63", "64-255", "64-255"]);
        assert_eq!([256_000, 1_023_000].map(name), ["256-1023"; 2]);
        assert_eq!([1_024_000, u32::MAX].map(name), [">=1024"; 2]);
        let name = |gpus: u32| SIMULATE_SIZES[size_of(&SIMULATE_SIZES, GpuMilli(gpus))].name;
        assert_eq!([8000, 9000, 32_000, 33_000].map(name), ["8", "9-32", "9-32", ">32"]);
    }
}
