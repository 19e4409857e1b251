//! A controller's clock in virtual time: the daemon's own, over a wall clock that is skewed and set
//! at will, and over what other controllers' clocks show. Never read in `apply`.

use common::id::ControllerId;
use common::time::{Span, Time};
use common::wire::peer::PeerClock;
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
    /// For a planted bug: whatever the wall shows is taken.
    is_credulous: bool,
}

impl Steady {
    /// One that was never read.
    pub fn new(is_credulous: bool) -> Self {
        Self { is_credulous, ..Self::default() }
    }

    /// What the host's clocks show.
    pub fn set(&mut self, wall: Time, uptime_ms: u64) {
        (self.wall, self.uptime) = (wall, Span(uptime_ms));
    }

    /// How long the host is up: since histories begin.
    pub const fn uptime_ms(&self) -> u64 {
        self.uptime.0
    }

    pub fn now(&mut self) -> Time {
        if self.is_credulous {
            self.clock.follow(self.wall, self.uptime);
        }
        self.clock.now(Reading { wall: self.wall, uptime: self.uptime })
    }

    /// What other controllers are shown of it.
    pub fn shown(&mut self, leads: bool) -> PeerClock {
        PeerClock { wall: self.wall, cluster: leads.then(|| self.now()) }
    }

    /// Another controller's clocks.
    pub fn hear(&mut self, from: ControllerId, clock: PeerClock, leads: bool) {
        self.clock.hear(from, clock.wall, self.uptime);
        if let Some(cluster) = clock.cluster.filter(|_| !leads) {
            self.clock.follow(cluster, self.uptime);
        }
    }

    /// The log holds this time.
    pub fn not_before(&mut self, time: Time) {
        self.clock.not_before(time);
    }
}
