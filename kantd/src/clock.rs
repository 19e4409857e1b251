//! The clocks, read only here: the wall clock, and the uptime, which all processes of a boot share.

use common::time::{Span, Time};
use nix::time::{ClockId, clock_gettime};
use std::time::SystemTime;

/// The current time by this node's clock; 1970 if the clock is earlier.
#[must_use]
pub fn now() -> Time {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}

/// The time since the machine booted, including suspend.
#[must_use]
pub fn uptime() -> Span {
    // This clock exists on every kernel since Linux 2.6.39.
    let up = clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map_or(0, |up| i128::from(up.tv_sec()) * 1000 + i128::from(up.tv_nsec()) / 1_000_000);
    Span(u64::try_from(up).unwrap_or_default())
}
