//! The wait before the next connection attempt: exponential, capped, with full jitter.
//!
//! Ten thousand nodes lose their controller in the same second; jitter spreads their return.

use std::time::Duration;

/// Waits between attempts, each drawn uniformly from zero to a ceiling that doubles up to a cap.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    ceiling: Duration,
}

impl Backoff {
    /// The ceiling is `first` for the first wait, and at most `cap`.
    pub fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, ceiling: first.min(cap) }
    }

    /// The wait before the next attempt.
    #[allow(clippy::should_implement_trait)] // endless, so an Option would only be in the way
    pub fn next(&mut self) -> Duration {
        let wait = self.ceiling.mul_f64(fastrand::f64());
        self.ceiling = self.ceiling.saturating_mul(2).min(self.cap);
        wait
    }

    /// Starts again with short waits, after a success.
    pub fn reset(&mut self) {
        self.ceiling = self.first.min(self.cap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(100);
    const CAP: Duration = Duration::from_secs(2);

    #[test]
    fn waits_stay_under_a_doubling_ceiling_and_the_cap() {
        for _ in 0..200 {
            let mut backoff = Backoff::new(FIRST, CAP);
            for doublings in 0..12 {
                let ceiling = (FIRST * (1 << doublings)).min(CAP);
                assert!(backoff.next() <= ceiling);
            }
        }
    }

    #[test]
    fn waits_spread_over_the_whole_range() {
        let waits: Vec<_> = (0..1000)
            .map(|_| {
                let mut backoff = Backoff::new(FIRST, CAP);
                (0..8).map(|_| backoff.next()).last().expect("eight waits")
            })
            .collect();
        assert!(waits.iter().any(|wait| *wait < CAP / 10), "no short wait in 1000");
        assert!(waits.iter().any(|wait| *wait > CAP / 10 * 9), "no long wait in 1000");
    }

    #[test]
    fn a_success_makes_waits_short_again() {
        let mut backoff = Backoff::new(FIRST, CAP);
        for _ in 0..10 {
            backoff.next();
        }
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }

    #[test]
    fn years_of_failures_do_not_overflow() {
        let mut backoff = Backoff::new(FIRST, Duration::MAX);
        for _ in 0..100 {
            backoff.next();
        }
    }
}
