//! The controller's clock: [`lead::ClusterClock`] fed by this host's clocks, shared by all parts of
//! one controller.

use common::id::ControllerId;
use common::sync::Mutex;
use common::time::{Span, Time};
use lead::{ClusterClock, Reading};
use nix::time::{ClockId, clock_gettime};
use std::time::SystemTime;

/// Cluster time as this controller knows it.
pub struct SteadyClock {
    wall: fn() -> Time,
    clock: Mutex<ClusterClock>,
}

impl SteadyClock {
    /// Reads the clocks. `wall` is [`wall_clock`] except in tests.
    #[must_use]
    pub fn new(wall: fn() -> Time) -> Self {
        let clock = ClusterClock::new(Reading { wall: wall(), uptime: uptime() });
        Self { wall, clock: Mutex::new(clock) }
    }

    /// What this host's wall clock shows, believed or not.
    #[must_use]
    pub fn wall(&self) -> Time {
        (self.wall)()
    }

    /// The cluster time, as far as it is known; never goes back while this controller leads.
    #[must_use]
    pub fn now(&self) -> Time {
        let reading = Reading { wall: self.wall(), uptime: uptime() };
        let expected = self.clock.lock().provisional_time(reading);
        expected.unwrap_or_else(|| self.stamp())
    }

    /// The cluster time for a command of this controller, which leads.
    #[must_use]
    pub fn stamp(&self) -> Time {
        let mut clock = self.clock.lock();
        let (wall, did_doubt) = (self.wall(), clock.is_wall_clock_doubted());
        let now = clock.now(Reading { wall, uptime: uptime() });
        match (did_doubt, clock.is_wall_clock_doubted()) {
            (false, true) => tracing::warn!(
                "this host's clock shows {wall}, but by the time elapsed it should be {now}: it is \
                 not used until most controllers' clocks agree with it or, with a single \
                 controller, until it has shown this for a minute. Correct NTP on this host"
            ),
            (true, false) => tracing::info!("this host's clock is used again: it shows {wall}"),
            _ => {}
        }
        now
    }

    /// The log contains this time: never return an earlier one.
    pub fn advance_to_at_least(&self, time: Time) {
        self.clock.lock().note_log_stamp(time);
    }

    /// Notes another controller's wall clock.
    pub fn note_peer_wall_clock(&self, from: ControllerId, wall: Time) {
        self.clock.lock().note_peer_clock(from, wall, uptime());
    }

    /// Notes the leader's cluster time; this controller does not lead.
    pub fn note_leader_time(&self, leader: Time) {
        self.clock.lock().follow(leader, uptime());
    }
}

/// The system's wall clock.
#[must_use]
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The host's uptime including suspend. `Instant` leaves suspend out, and the wall clock would then
/// seem to leap.
pub fn uptime() -> Span {
    // This clock exists on every kernel since Linux 2.6.39.
    let up = clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map_or(0, |up| i128::from(up.tv_sec()) * 1000 + i128::from(up.tv_nsec()) / 1_000_000);
    Span(u64::try_from(up).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn behind_the_log_time_still_passes() {
        let clock = SteadyClock::new(|| Time(1000));
        clock.advance_to_at_least(Time(5_000_000));
        let first = clock.stamp();
        assert!(first >= Time(5_000_000));
        let deadline = Instant::now() + Duration::from_secs(10);
        while clock.now() <= first {
            assert!(Instant::now() < deadline, "the clock stands still");
        }
    }

    #[test]
    fn ahead_of_the_log_the_wall_clock_counts() {
        let clock = SteadyClock::new(wall_clock);
        clock.advance_to_at_least(Time(5));
        assert!(clock.now() >= wall_clock() - Span(1000));
    }

    #[test]
    fn a_wall_clock_that_leaps_an_hour_ahead_and_back_moves_nothing() {
        static AHEAD: AtomicU64 = AtomicU64::new(0);
        let clock = SteadyClock::new(|| wall_clock() + Span(AHEAD.load(Ordering::SeqCst)));
        let before = clock.stamp();
        AHEAD.store(3_600_000, Ordering::SeqCst);
        let leapt = clock.now();
        AHEAD.store(0, Ordering::SeqCst);
        let after = clock.now();
        let near = |time: Time| time >= before && time.since(before) < Span::from_minutes(30);
        assert!(near(leapt) && near(after), "{before} {leapt} {after}");
    }
}
