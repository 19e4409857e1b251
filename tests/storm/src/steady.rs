//! A controller's clock in virtual time: its wall clock, skewed and set at will, but never back and
//! never still, as the daemon's. Never read in `apply`.

use common::time::{Span, Time};

/// When all histories begin, by a true clock.
const BEGINNING: Time = Time(1_700_000_000_000);

/// The true time after so many milliseconds.
pub fn true_time(now_ms: u64) -> Time {
    BEGINNING + Span(now_ms)
}

/// One controller's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Steady {
    last: Time,
    last_uptime_ms: u64,
    wall: Time,
    uptime_ms: u64,
}

impl Steady {
    /// What the host's clocks show.
    pub fn set(&mut self, wall: Time, uptime_ms: u64) {
        (self.wall, self.uptime_ms) = (wall, uptime_ms);
    }

    /// Now: the wall clock, or, while that is behind what was said before, as much later than that
    /// as time has passed.
    pub fn now(&mut self) -> Time {
        let passed = self.uptime_ms.saturating_sub(self.last_uptime_ms);
        self.last = self.wall.max(self.last + Span(passed));
        self.last_uptime_ms = self.uptime_ms;
        self.last
    }

    /// The log holds a later time: go on from there.
    pub fn not_before(&mut self, time: Time) {
        if time > self.last {
            (self.last, self.last_uptime_ms) = (time, self.uptime_ms);
        }
    }
}
