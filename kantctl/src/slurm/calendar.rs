//! Times as Slurm's commands write and read them: `2026-11-22T10:37:03` in the user's zone, spans
//! as `1-02:03:04`. Never reads a clock but for the heading of a listing.
//! Source: man squeue (%M, %S), man sacct (-S).

use common::time::{Span, Time};
use jiff::Timestamp;
use jiff::civil::{DateTime, Time as Clock};
use jiff::tz::TimeZone;

/// `2026-11-22T10:37:03`.
#[must_use]
pub fn moment(at: Time, zone: &TimeZone) -> String {
    let at = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "Unknown".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string(),
    )
}

/// `Sun Nov 22 10:37:03 2026`: now, above listings that are long or repeated.
#[must_use]
pub fn heading(zone: &TimeZone) -> String {
    let now = jiff::Zoned::now().with_time_zone(zone.clone());
    now.strftime("%a %b %d %H:%M:%S %Y").to_string()
}

/// `1-02:03:04`, `2:03:04`, `3:04`: as squeue does.
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

/// `1-02:03:04`, `00:03:04`: as sacct does.
#[must_use]
pub fn long_span(span: Span) -> String {
    let seconds = span.seconds();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let clock = format!("{hours:02}:{minutes:02}:{seconds:02}");
    if days == 0 { clock } else { format!("{days}-{clock}") }
}

/// The moment that a user names: `now-2days`, `2026-11-20`, `2026-11-20T08:00`, `08:00`, `today`.
///
/// # Errors
/// A sentence saying how to write it.
pub fn read(text: &str, now: Time, zone: &TimeZone) -> Result<Time, String> {
    let lower = text.trim().to_ascii_lowercase();
    if lower == "now" {
        return Ok(now);
    }
    if let Some(back) = lower.strip_prefix("now-") {
        return Ok(now - length(back)?);
    }
    let here = i64::try_from(now.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let here = here.unwrap_or_default().to_zoned(zone.clone());
    let clock = match lower.as_str() {
        "today" | "midnight" => Some(Clock::midnight()),
        "noon" => Some(Clock::constant(12, 0, 0, 0)),
        other => other.parse::<Clock>().ok(),
    };
    let local: Option<DateTime> = match clock {
        Some(clock) => Some(here.date().to_datetime(clock)),
        None => lower.to_ascii_uppercase().parse().ok(),
    };
    let at = local.and_then(|local| local.to_zoned(zone.clone()).ok());
    let at = at.and_then(|at| u64::try_from(at.timestamp().as_millisecond()).ok());
    at.map(Time).ok_or_else(|| {
        format!("`{text}` is no time: write 2026-11-20, 2026-11-20T08:00, 08:00, today, now-2days")
    })
}

/// `2days`, `3hours`, `90` (seconds, as Slurm has it).
fn length(text: &str) -> Result<Span, String> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let wrong = || format!("`{text}` is no length of time: write 2days, 3hours, 30minutes, 90");
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
    fn the_past_is_named_as_sacct_has_it() {
        let now = Time(1_700_000_000_000);
        let read = |text| read(text, now, &TimeZone::UTC);
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
    }
}
