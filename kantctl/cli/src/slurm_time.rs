//! Times as Slurm's commands write and read them: `2026-11-22T10:37:03` in the user's time zone,
//! spans as `1-02:03:04`.
//! Source: man squeue (%M, %S), man sacct (-S).

use crate::clock::to_timestamp;
use common::time::{Span, Time};
use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::tz::TimeZone;

/// `2026-11-22T10:37:03`.
#[must_use]
pub fn format_time(at: Time, zone: &TimeZone) -> String {
    to_timestamp(at).map_or_else(
        || "Unknown".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string(),
    )
}

/// `Sun Nov 22 10:37:03 2026`: the current time, above long and repeated listings.
#[must_use]
pub fn current_time(zone: &TimeZone) -> String {
    let now = jiff::Zoned::now().with_time_zone(zone.clone());
    now.strftime("%a %b %d %H:%M:%S %Y").to_string()
}

/// `1-02:03:04`, `2:03:04`, `3:04`: squeue's format.
#[must_use]
pub fn short_span(span: Span) -> String {
    let seconds = span.seconds();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// `1-02:03:04`, `00:03:04`: sacct's format.
#[must_use]
pub fn long_span(span: Span) -> String {
    let seconds = span.seconds();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let clock = format!("{hours:02}:{minutes:02}:{seconds:02}");
    if days == 0 { clock } else { format!("{days}-{clock}") }
}

/// Parses a time: `now-2days`, `2026-11-20`, `2026-11-20T08:00`, `11/20/26`, `08:00`, `yesterday`.
/// A time before 1970 becomes 1970.
///
/// # Errors
/// A sentence that says how to write a time.
pub fn parse_time(text: &str, now: Time, zone: &TimeZone) -> Result<Time, String> {
    let lower = text.trim().to_ascii_lowercase();
    if lower == "now" {
        return Ok(now);
    }
    if let Some(back) = lower.strip_prefix("now-") {
        return Ok(now - parse_duration(back)?);
    }
    if let Some(on) = lower.strip_prefix("now+") {
        return Ok(now + parse_duration(on)?);
    }
    let today = to_timestamp(now).unwrap_or_default().to_zoned(zone.clone()).date();
    let local = match lower.as_str() {
        "yesterday" => today.yesterday().ok().map(|day| day.to_datetime(Clock::midnight())),
        "tomorrow" => today.tomorrow().ok().map(|day| day.to_datetime(Clock::midnight())),
        other => match parse_clock(other) {
            Some(clock) => Some(today.to_datetime(clock)),
            None => day_and_clock(other, today),
        },
    };
    let at = local.and_then(|local| local.to_zoned(zone.clone()).ok());
    let at = at.map(|at| at.timestamp().as_millisecond().max(0).cast_unsigned());
    at.map(Time).ok_or_else(|| {
        format!(
            "`{text}` is not a time: write 2026-11-20, 2026-11-20T08:00, 08:00, today or now-2days"
        )
    })
}

/// `08:00`, `8:00pm`, `noon`.
fn parse_clock(text: &str) -> Option<Clock> {
    let hour = |hour| Some(Clock::constant(hour, 0, 0, 0));
    match text {
        "today" | "midnight" => return hour(0),
        "noon" => return hour(12),
        "fika" => return hour(15),
        "teatime" => return hour(16),
        _ => {}
    }
    let halves = [("am", 0), ("pm", 12)];
    let half = halves.iter().find_map(|(word, hours)| Some((text.strip_suffix(word)?, *hours)));
    let Some((clock, add)) = half else {
        // Only digits and colons: a date with a time would lose its date here.
        let is_clock = text.contains(':') && text.bytes().all(|b| b.is_ascii_digit() || b == b':');
        return if is_clock { text.parse().ok() } else { None };
    };
    let (hour, minutes) = clock.trim().split_once(':')?;
    let hour: u8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    format!("{:02}:{minutes}", hour % 12 + add).parse().ok()
}

/// The length of `2026-11-20`.
const DATE_LENGTH: usize = 10;

/// `2026-11-20T08:00`; or month, day and year as `11/20/26`, `11.20.26`, `112026`, where a missing
/// year is this year; each with or without a time of day.
fn day_and_clock(text: &str, today: Date) -> Option<DateTime> {
    if let Ok(known) = text.to_ascii_uppercase().parse() {
        return Some(known);
    }
    // `1970-01-01-00:00:01`.
    if let Some((day, time)) = text.split_at_checked(DATE_LENGTH)
        && let (Ok(day), Some(time)) = (day.parse::<Date>(), time.strip_prefix('-'))
    {
        return Some(day.to_datetime(parse_clock(time)?));
    }
    let (day, time) = match text.split_once(['t', '-']) {
        Some((day, time)) => (day, parse_clock(time)?),
        None => (text, Clock::midnight()),
    };
    let bare: String = day.chars().filter(|letter| !matches!(letter, '/' | '.')).collect();
    if !matches!(bare.len(), 4 | 6) || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize| bare.get(from..from + 2)?.parse::<i8>().ok();
    let year = number(4).map_or(today.year(), |year| 2000 + i16::from(year));
    Some(Date::new(year, number(0)?, number(2)?).ok()?.to_datetime(time))
}

/// `2days`, `3hours`, `90` (seconds, as Slurm has it).
fn parse_duration(text: &str) -> Result<Span, String> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let wrong = || format!("`{text}` is not a duration: write 2days, 3hours, 30minutes or 90");
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let seconds = match text[digits..].trim_end_matches('s') {
        "" | "second" => 1,
        "minute" => 60,
        "hour" => 3600,
        "day" => 86_400,
        "week" => 7 * 86_400,
        _ => return Err(wrong()),
    };
    Ok(Span::from_seconds(number.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short_in_squeue_and_long_in_sacct() {
        for (seconds, short, long) in [
            (5, "0:05", "00:00:05"),
            (3723, "1:02:03", "01:02:03"),
            (93_784, "1-02:03:04", "1-02:03:04"),
        ] {
            let span = Span::from_seconds(seconds);
            assert_eq!((short_span(span).as_str(), long_span(span).as_str()), (short, long));
        }
    }

    #[test]
    fn times_are_parsed_in_all_of_saccts_forms() {
        let now = Time(1_700_000_000_000);
        let read = |text| parse_time(text, now, &TimeZone::UTC);
        assert_eq!(read("now"), Ok(now));
        assert_eq!(read("now-2days"), Ok(now - Span::from_seconds(172_800)));
        assert_eq!(read("now-90"), Ok(now - Span::from_seconds(90)));
        assert!(read("now-2moons").unwrap_err().contains("2days"));
        assert_eq!(read("2023-11-14T22:13:20"), Ok(now));
        assert_eq!(read("22:13:20"), Ok(now));
        let midnight = now - Span::from_seconds(22 * 3600 + 13 * 60 + 20);
        assert_eq!((read("today"), read("2023-11-14")), (Ok(midnight), Ok(midnight)));
        assert_eq!(read("2023-11-14T22:00"), read("22:00"));
        assert!(read("soon").unwrap_err().contains("2026-11-20"));
        let day = Span::from_seconds(86_400);
        assert_eq!((read("yesterday"), read("tomorrow")), (Ok(midnight - day), Ok(midnight + day)));
        assert_eq!(read("2023-11-13T22:13:20"), Ok(now - day));
        assert_eq!(read("now+1hour"), Ok(now + Span::from_seconds(3600)));
        for same in ["11/14/23", "11.14.23", "111423", "11/14", "1114", "11/14/23-00:00"] {
            assert_eq!(read(same), Ok(midnight), "{same}");
        }
        assert_eq!((read("3:00pm"), read("12:30am")), (read("fika"), read("00:30")));
        for wrong in ["13/40", "11/1", "25:00", "0:30pm", "1123é"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_start_in_1970_and_a_day_may_have_25_hours() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(parse_time("1970-01-01", Time(1_700_000_000_000), &berlin), Ok(Time(0)));
        // 2023-10-30, a day after the clocks went back.
        let now = Time(1_698_660_000_000);
        let (day, before) =
            (parse_time("today", now, &berlin), parse_time("yesterday", now, &berlin));
        assert_eq!(day.unwrap().since(before.unwrap()), Span::from_seconds(25 * 3600));
    }
}
