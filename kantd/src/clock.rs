//! The one place in kantd that reads the wall clock. Never measures spans; `Instant` does.

use common::time::Time;
use std::time::SystemTime;

/// Now, by this node's clock. A clock before 1970 is taken for 1970.
#[must_use]
pub fn now() -> Time {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}
