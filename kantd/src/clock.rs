//! The wall clock, read only here.

use common::time::Time;
use std::time::SystemTime;

/// The current time by this node's clock; 1970 if the clock is earlier.
#[must_use]
pub fn now() -> Time {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}
