//! The router's clock: milliseconds and nanoseconds since its first use, which fit into an atomic
//! number.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

static BEGIN: OnceLock<Instant> = OnceLock::new();

/// The begin of this clock.
pub fn epoch() -> Instant {
    *BEGIN.get_or_init(Instant::now)
}

/// Milliseconds since the begin.
pub fn now_ms() -> u64 {
    u64::try_from(epoch().elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Nanoseconds from the begin to this time.
pub fn nanoseconds(at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(epoch()).as_nanos()).unwrap_or(u64::MAX)
}

/// The time that was this number of nanoseconds after the begin.
pub fn instant(nanoseconds: u64) -> Instant {
    epoch() + Duration::from_nanos(nanoseconds)
}
