//! JWTD: the distribution of jobs' waiting times. Quantiles are not interpolated: each is the wait
//! of some job.

use super::nearest_rank;
use common::time::Span;

/// Waiting times of some jobs, in seconds. `None` if there are no jobs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JobWaits {
    pub jobs: usize,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    /// The wait that 90 % do not exceed.
    pub p90: Option<f64>,
    /// The wait that 99 % do not exceed.
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

impl JobWaits {
    /// The distribution of these waits, in any order.
    #[must_use]
    pub fn of(mut waits: Vec<Span>) -> Self {
        waits.sort_unstable();
        let sum = waits.iter().fold(0, |sum: u64, wait| sum.saturating_add(wait.0));
        let rank = |percent| nearest_rank(&waits, percent).map(|wait| seconds(wait.0));
        #[allow(clippy::cast_precision_loss)] // far below 2^53 jobs
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

#[allow(clippy::cast_precision_loss)] // exact for 285,000 years
fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_waits_that_some_job_had() {
        let waits = JobWaits::of((1..=10).rev().map(Span::from_seconds).collect());
        assert_eq!((waits.jobs, waits.mean), (10, Some(5.5)));
        assert_eq!((waits.p50, waits.p90), (Some(5.0), Some(9.0)));
        assert_eq!((waits.p99, waits.max), (Some(10.0), Some(10.0)));
        assert_eq!(JobWaits::of(vec![Span(1500)]).p50, Some(1.5));
        assert_eq!(JobWaits::of(Vec::new()), JobWaits::default());
    }
}
