//! A controller's clock in virtual time: the daemon's own clock, over a wall clock that faults may
//! set and the clock readings of other controllers. `apply` never reads it.

use crate::mutants::Mutant;
use common::id::ControllerId;
use common::time::{Span, Time};
use common::wire::peer::PeerReport;
use lead::{ClusterClock, Reading};

/// The true time when every history begins.
const BEGINNING: Time = Time(1_700_000_000_000);

/// The true time this many milliseconds after the beginning.
pub fn true_time(now_ms: u64) -> Time {
    BEGINNING + Span(now_ms)
}

#[derive(Debug, Clone)]
pub struct Steady {
    clock: ClusterClock,
    wall: Time,
    uptime: Span,
    /// For a mutant: the wall clock is always believed.
    is_credulous: bool,
}

impl Steady {
    /// The clock of a process that starts with these readings of the host's clocks.
    pub fn new(wall: Time, uptime_ms: u64, mutant: Option<Mutant>) -> Self {
        let (uptime, is_credulous) = (Span(uptime_ms), mutant == Some(Mutant::BelieveWall));
        let clock = ClusterClock::new(Reading { wall, uptime });
        Self { clock, wall, uptime, is_credulous }
    }

    /// Sets the readings of the host's clocks.
    pub fn set(&mut self, wall: Time, uptime_ms: u64) {
        (self.wall, self.uptime) = (wall, Span(uptime_ms));
    }

    /// Time since the beginning of the history, in milliseconds.
    pub const fn uptime_ms(&self) -> u64 {
        self.uptime.0
    }

    pub fn now(&mut self) -> Time {
        if self.is_credulous {
            self.clock.follow(self.wall, self.uptime);
        }
        self.clock.now(Reading { wall: self.wall, uptime: self.uptime })
    }

    /// The wall clock and, if it leads, the cluster time, as other controllers receive them.
    pub fn shown(&mut self, leads: bool) -> (Time, Option<Time>) {
        (self.wall, leads.then(|| self.now()))
    }

    /// Handles the report of another controller, which may be the leader.
    pub fn on_report(&mut self, from: ControllerId, report: PeerReport, leads: bool) {
        self.clock.note_peer_clock(from, report.wall, self.uptime);
        if let Some(cluster) = report.cluster.filter(|_| leads) {
            self.clock.follow(cluster, self.uptime);
        }
    }

    /// Keeps the clock from going back behind a time in the log.
    pub fn not_before(&mut self, time: Time) {
        self.clock.note_log_stamp(time);
    }
}
