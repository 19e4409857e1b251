//! Times and spans as people read them: local time, to the second. Never reads a clock.

use common::time::{Span, Time};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `2026-11-21 14:03:05`, in the given zone.
#[must_use]
pub fn local(at: Time, zone: &TimeZone) -> String {
    let at = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "never".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// How long since `start`: until `end`, or until now. `-` before the start.
#[must_use]
pub fn elapsed(start: Option<Time>, end: Option<Time>, now: Time) -> String {
    start.map_or_else(|| "-".to_owned(), |start| end.unwrap_or(now).since(start).to_string())
}

/// A time limit; `-` for none.
#[must_use]
pub fn limit(limit: Option<Span>) -> String {
    limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_local_and_spans_are_slurms() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(local(Time(1_700_000_000_000), &zone), "2023-11-15 00:13:20");
        assert_eq!(local(Time(u64::MAX), &zone), "never");
        assert_eq!(elapsed(None, None, Time(9000)), "-");
        assert_eq!(elapsed(Some(Time(1000)), None, Time(62_000)), "01:01");
        assert_eq!(elapsed(Some(Time(1000)), Some(Time(3000)), Time(62_000)), "00:02");
        assert_eq!(limit(Some(Span::from_minutes(90))), "01:30:00");
    }
}
