//! Counters of this controller's scheduling rounds, for its metrics. They begin at its start.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct RoundStats {
    rounds: AtomicU64,
    micros: AtomicU64,
    starts: AtomicU64,
    preempts: AtomicU64,
}

/// The counters at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundCounts {
    pub rounds: u64,
    /// The time that deciding took, without the log.
    pub time: Duration,
    pub starts: u64,
    pub preempts: u64,
}

impl RoundStats {
    /// Counts a round that took this long to decide.
    pub fn note_decided(&self, took: Duration) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Counts what a round decided.
    pub fn note_enacted(&self, starts: usize, preempts: usize) {
        self.starts.fetch_add(starts as u64, Ordering::Relaxed);
        self.preempts.fetch_add(preempts as u64, Ordering::Relaxed);
    }

    pub fn counts(&self) -> RoundCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RoundCounts {
            rounds: read(&self.rounds),
            time: Duration::from_micros(read(&self.micros)),
            starts: read(&self.starts),
            preempts: read(&self.preempts),
        }
    }
}
