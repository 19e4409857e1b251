//! The controller's clock: the wall's, but never back, and never still. A wall clock that was set
//! ahead and back again must not freeze time, or no node would ever be lost. Never read in `apply`.

use common::time::{Span, Time};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// A clock that all parts of one controller share.
pub struct SteadyClock {
    wall: fn() -> Time,
    last: Mutex<(Time, Instant)>,
}

impl SteadyClock {
    /// Over a wall clock; [`wall_clock`] but in tests.
    #[must_use]
    pub fn new(wall: fn() -> Time) -> Self {
        Self { wall, last: Mutex::new((wall(), Instant::now())) }
    }

    /// Now: the wall clock, or, while that is behind what was said before, as much later than that
    /// as time has passed.
    #[must_use]
    pub fn now(&self) -> Time {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = u64::try_from(last.1.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now = (self.wall)().max(last.0 + Span(passed));
        // Moved on only by whole milliseconds, or many small steps would lose time.
        if now > last.0 {
            *last = (now, Instant::now());
        }
        now
    }

    /// The log holds a later time: go on from there.
    pub fn not_before(&self, time: Time) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if time > last.0 {
            *last = (time, Instant::now());
        }
    }
}

/// The system's wall clock.
#[must_use]
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn behind_the_log_time_still_passes() {
        let clock = SteadyClock::new(|| Time(1000));
        clock.not_before(Time(5_000_000));
        let first = clock.now();
        assert!(first >= Time(5_000_000));
        let deadline = Instant::now() + Duration::from_secs(10);
        while clock.now() <= first {
            assert!(Instant::now() < deadline, "time stood still");
        }
    }

    #[test]
    fn ahead_of_the_log_the_wall_counts() {
        let clock = SteadyClock::new(wall_clock);
        clock.not_before(Time(5));
        assert!(clock.now() >= wall_clock() - Span(1000));
    }
}
