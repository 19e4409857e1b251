//! Whether a replica gets requests, judged by those that it failed. A replica that fails
//! repeatedly gets none for a time that doubles with each further failure.

use common::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const BACK_OFF_MIN: Duration = Duration::from_secs(1);
const BACK_OFF_MAX: Duration = Duration::from_secs(30);

/// The failures of one replica. Times are milliseconds of one clock.
#[derive(Debug, Default)]
pub struct Health {
    /// Failures since the last success.
    failures: AtomicU32,
    /// It gets no requests before this time.
    out_until: AtomicU64,
    /// Times that it was taken out since the last success.
    outs: Mutex<u32>,
}

impl Health {
    pub fn is_out(&self, now: u64) -> bool {
        now < self.out_until.load(Relaxed)
    }

    /// It has answered.
    pub fn succeed(&self) {
        if self.failures.load(Relaxed) == 0 {
            return;
        }
        self.failures.store(0, Relaxed);
        *self.outs.lock() = 0;
        self.out_until.store(0, Relaxed);
    }

    /// It has not answered. Returns the length of the back-off if one begins: after
    /// `failures_max` failures in a row, and after each one that follows a back-off.
    pub fn fail(&self, now: u64, failures_max: u32) -> Option<Duration> {
        let mut outs = self.outs.lock();
        // Requests that were in flight when the back-off began do not prolong it.
        if self.is_out(now) {
            return None;
        }
        let failures = self.failures.load(Relaxed).saturating_add(1);
        self.failures.store(failures, Relaxed);
        if failures < failures_max {
            return None;
        }
        let back_off = BACK_OFF_MAX.min(BACK_OFF_MIN * 2_u32.saturating_pow((*outs).min(16)));
        *outs += 1;
        let milliseconds = u64::try_from(back_off.as_millis()).unwrap_or(u64::MAX);
        self.out_until.store(now.saturating_add(milliseconds), Relaxed);
        Some(back_off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_take_a_replica_out_for_a_time_that_doubles() {
        let health = Health::default();
        assert_eq!((health.fail(0, 3), health.fail(0, 3)), (None, None));
        assert!(!health.is_out(0));
        let mut now = 0;
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            assert_eq!(health.fail(now, 3), Some(Duration::from_secs(seconds)));
            assert!(health.is_out(now + seconds * 1000 - 1));
            assert_eq!(health.fail(now + 1, 3), None, "it is out already");
            now += seconds * 1000;
            assert!(!health.is_out(now));
        }
    }

    #[test]
    fn a_success_ends_the_count() {
        let health = Health::default();
        for _ in 0..2 {
            assert_eq!((health.fail(0, 3), health.fail(0, 3)), (None, None));
            health.succeed();
        }
        assert_eq!(health.fail(0, 1), Some(BACK_OFF_MIN));
        assert_eq!(health.fail(1000, 1), Some(2 * BACK_OFF_MIN));
        health.succeed();
        assert!(!health.is_out(1000));
        assert_eq!(health.fail(1000, 1), Some(BACK_OFF_MIN));
    }
}
