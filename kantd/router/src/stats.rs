//! The counts of one service, which all workers update.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the buckets of times, in seconds. Answers of models take from milliseconds to
/// minutes.
pub const BOUNDS_SECONDS: [f64; 18] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    120.0, 300.0, 600.0,
];

/// Why the router answered a request itself, or cut an answer off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Malformed or not allowed: 400, 405, 421.
    BadRequest,
    /// No access token, or a wrong one: 401.
    Unauthorized,
    /// The body came too slowly: 408.
    SlowBody,
    /// No replica was ready, and no more requests may wait: 503.
    HoldFull,
    /// No replica became ready in time: 503.
    HoldTimeout,
    /// No connection to a replica: 502.
    Connect,
    /// The replica closed the connection before it answered: 502.
    Reset,
    /// The replica did not begin its answer in time: 504.
    AnswerTimeout,
    /// The replica's answer ended early.
    AnswerCut,
    /// The client left before it had the whole answer.
    ClientGone,
}

impl ErrorKind {
    pub const ALL: [Self; 10] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::SlowBody,
        Self::HoldFull,
        Self::HoldTimeout,
        Self::Connect,
        Self::Reset,
        Self::AnswerTimeout,
        Self::AnswerCut,
        Self::ClientGone,
    ];

    /// The value of the label `kind`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
            Self::SlowBody => "slow_body",
            Self::HoldFull => "hold_full",
            Self::HoldTimeout => "hold_timeout",
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::AnswerTimeout => "answer_timeout",
            Self::AnswerCut => "answer_cut",
            Self::ClientGone => "client_gone",
        }
    }
}

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

/// A number of things that are there now.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

/// Times by bucket.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Count; BOUNDS_SECONDS.len() + 1],
    sum_nanoseconds: Count,
}

#[derive(Debug, Default)]
pub struct Stats {
    pub requests: Count,
    pub in_flight: Gauge,
    /// Requests that wait for a ready replica.
    pub held: Gauge,
    /// All that have ever waited.
    pub holds: Count,
    pub retries: Count,
    /// Times that a replica was taken out for its failures.
    pub outs: Count,
    pub connections: Gauge,
    /// Those of them that are idle and have given up their buffers.
    pub connections_parked: Gauge,
    pub connections_refused: Count,
    /// By the first digit of the status.
    pub answers: [Count; 6],
    errors: [Count; ErrorKind::ALL.len()],
    pub duration: Histogram,
    pub first_byte: Histogram,
}

impl Count {
    pub fn add_one(&self) {
        self.add(1);
    }

    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Gauge {
    pub fn add_one(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub fn subtract_one(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    /// Adds one if there are fewer than `max`.
    pub fn try_add_one(&self, max: u64) -> bool {
        let add = |now| (now < max).then_some(now + 1);
        self.0.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counts something until it is dropped.
#[derive(Debug)]
pub struct Counted<'a>(&'a Gauge);

impl<'a> Counted<'a> {
    pub fn begin(gauge: &'a Gauge) -> Self {
        gauge.add_one();
        Self(gauge)
    }

    /// Begins if fewer than `max` are counted.
    pub fn try_begin(gauge: &'a Gauge, max: u64) -> Option<Self> {
        gauge.try_add_one(max).then_some(Self(gauge))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.subtract_one();
    }
}

impl Histogram {
    pub fn observe(&self, span: Duration) {
        let seconds = span.as_secs_f64();
        let bucket = BOUNDS_SECONDS.partition_point(|bound| *bound < seconds);
        self.buckets[bucket].add_one();
        self.sum_nanoseconds.add(u64::try_from(span.as_nanos()).unwrap_or_default());
    }

    /// The numbers of times up to each bound, and of all.
    pub fn cumulative(&self) -> [u64; BOUNDS_SECONDS.len() + 1] {
        let mut sum = 0;
        self.buckets.each_ref().map(|count| {
            sum += count.get();
            sum
        })
    }

    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_nanoseconds.get())
    }
}

impl Stats {
    pub fn count_error(&self, kind: ErrorKind) {
        self.errors[kind as usize].add_one();
    }

    pub fn error_count(&self, kind: ErrorKind) -> u64 {
        self.errors[kind as usize].get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_the_bucket_of_its_bound_and_in_all_larger_ones() {
        let histogram = Histogram::default();
        for milliseconds in [1, 2, 700_000] {
            histogram.observe(Duration::from_millis(milliseconds));
        }
        let counts = histogram.cumulative();
        assert_eq!((counts[0], counts[1], counts[17], counts[18]), (1, 2, 2, 3));
        assert_eq!(histogram.sum(), Duration::from_millis(700_003));
    }

    #[test]
    fn each_kind_of_error_has_its_own_count() {
        let stats = Stats::default();
        for kind in ErrorKind::ALL {
            stats.count_error(kind);
        }
        assert!(ErrorKind::ALL.iter().all(|kind| stats.error_count(*kind) == 1));
    }

    #[test]
    fn a_gauge_stops_at_its_maximum() {
        let gauge = Gauge::default();
        assert!(gauge.try_add_one(1) && !gauge.try_add_one(1));
        gauge.subtract_one();
        assert!(gauge.try_add_one(1));
    }
}
