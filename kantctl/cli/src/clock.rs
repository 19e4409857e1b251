//! The present time, and kant's times as the calendar's timestamps.

use common::time::Time;
use jiff::Timestamp;

#[must_use]
pub fn now() -> Time {
    to_time(Timestamp::now())
}

/// A timestamp before 1970 becomes 1970.
#[must_use]
pub fn to_time(at: Timestamp) -> Time {
    Time(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

/// `None`: the time is beyond the calendar.
#[must_use]
pub fn to_timestamp(at: Time) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok()
}
