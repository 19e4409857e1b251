//! A controller's clock in virtual time: the daemon's own, over a wall clock that is skewed and set
//! at will. Hears of no other controller's clock. Never read in `apply`.

use common::time::{Span, Time};
use lead::{ClusterClock, Reading};

/// When all histories begin, by a true clock.
const BEGINNING: Time = Time(1_700_000_000_000);

/// The true time after so many milliseconds.
pub fn true_time(now_ms: u64) -> Time {
    BEGINNING + Span(now_ms)
}

#[derive(Debug, Clone, Default)]
pub struct Steady {
    clock: ClusterClock,
    wall: Time,
    uptime: Span,
}

impl Steady {
    /// What the host's clocks show.
    pub fn set(&mut self, wall: Time, uptime_ms: u64) {
        (self.wall, self.uptime) = (wall, Span(uptime_ms));
    }

    pub fn now(&mut self) -> Time {
        self.clock.now(Reading { wall: self.wall, uptime: self.uptime })
    }

    /// The log holds this time.
    pub fn not_before(&mut self, time: Time) {
        self.clock.not_before(time);
    }
}
