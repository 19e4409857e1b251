//! Times in the local zone and spans, to the second.

use super::user_names;
use crate::clock::to_timestamp;
use common::time::{Span, Time};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `2026-11-21 14:03:05`, in the given zone.
#[must_use]
pub fn local(at: Time, zone: &TimeZone) -> String {
    to_timestamp(at).map_or_else(
        || "never".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// The length of a time in the controller's sentences: `2023-11-14T22:13:20Z`.
const UTC_LENGTH: usize = 20;

/// A sentence of the controller, with times converted from UTC (RFC 3339) to the given zone and
/// users' numbers replaced by names.
#[must_use]
pub fn localized(sentence: &str, zone: &TimeZone) -> String {
    let mut text = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(first) = rest.chars().next() {
        let time =
            rest.get(..UTC_LENGTH).filter(|text| first.is_ascii_digit() && text.ends_with('Z'));
        let at = time.and_then(|text| text.parse::<Timestamp>().ok());
        let at = at.and_then(|at| u64::try_from(at.as_millisecond()).ok());
        let length = match at {
            Some(at) => {
                text.push_str(&local(Time(at), zone));
                UTC_LENGTH
            }
            None => {
                text.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    user_names::replace_user_numbers(&text)
}

/// The time from `start` to `end` or now; `-` before the start.
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
    fn only_times_in_sentences_are_converted_to_the_users_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        for (text, shown) in [
            ("until 2023-11-14T22:13:20Z, or sooner", "until 2023-11-15 00:13:20, or sooner"),
            ("2023-11-14T22:13:20Z", "2023-11-15 00:13:20"),
            (
                "from 2023-11-14T22:13:20Z to 2023-11-14T22:13:21Z",
                "from 2023-11-15 00:13:20 to 2023-11-15 00:13:21",
            ),
            (
                "job 2023-11-14 of Zoë: 99 bottles, 2023-99-14T22:13:20Z",
                "job 2023-11-14 of Zoë: 99 bottles, 2023-99-14T22:13:20Z",
            ),
            ("", ""),
        ] {
            assert_eq!(localized(text, &zone), shown);
        }
    }

    #[test]
    fn times_are_local_and_spans_have_slurms_format() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(local(Time(1_700_000_000_000), &zone), "2023-11-15 00:13:20");
        assert_eq!(local(Time(u64::MAX), &zone), "never");
        assert_eq!(elapsed(None, None, Time(9000)), "-");
        assert_eq!(elapsed(Some(Time(1000)), None, Time(62_000)), "01:01");
        assert_eq!(elapsed(Some(Time(1000)), Some(Time(3000)), Time(62_000)), "00:02");
        assert_eq!(limit(Some(Span::from_minutes(90))), "01:30:00");
    }
}
