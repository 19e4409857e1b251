//! The distribution of waiting times. Percentiles are nearest rank: the smallest value that at
//! least so many percent do not exceed. Never interpolated, so each is some job's true wait.

use common::time::Span;

/// Waiting times of some jobs, in seconds; nothing where there are no jobs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Waits {
    /// How many jobs.
    pub jobs: usize,
    /// Their mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The wait that 90 % do not exceed.
    pub p90: Option<f64>,
    /// The wait that 99 % do not exceed.
    pub p99: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

impl Waits {
    /// Of these waits, in any order.
    #[must_use]
    pub fn of(mut waits: Vec<Span>) -> Self {
        waits.sort_unstable();
        let sum: u64 = waits.iter().map(|wait| wait.0).sum();
        let rank = |percent| nearest_rank(&waits, percent).map(|wait| seconds(wait.0));
        #[allow(clippy::cast_precision_loss)]
        let mean = (!waits.is_empty()).then(|| seconds(sum) / waits.len() as f64);
        Self {
            jobs: waits.len(),
            mean,
            p50: rank(50),
            p90: rank(90),
            p99: rank(99),
            max: rank(100),
        }
    }
}

/// The smallest of the sorted values that at least `percent` of them do not exceed.
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Milliseconds as seconds.
#[allow(clippy::cast_precision_loss)]
pub fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_waits_that_somebody_had() {
        let waits = Waits::of((1..=10).rev().map(Span::from_seconds).collect());
        assert_eq!((waits.jobs, waits.mean), (10, Some(5.5)));
        assert_eq!((waits.p50, waits.p90), (Some(5.0), Some(9.0)));
        assert_eq!((waits.p99, waits.max), (Some(10.0), Some(10.0)));
        assert_eq!(Waits::of(vec![Span(1500)]).p50, Some(1.5));
        assert_eq!(Waits::of(Vec::new()), Waits::default());
    }
}
