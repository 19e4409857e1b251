//! `--begin` and `--deadline`: the earliest start and the latest end of a job, in the formats of
//! man sbatch, in local time.

use crate::clock::to_time;
use common::time::{Span, Time};
use jiff::civil::{DateTime, Time as Clock};
use jiff::{Timestamp, Zoned};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BeginError {
    #[error(
        "write now+1hour (or +90minutes, +2days), 16:30, midnight, noon, tomorrow, or a date: \
         2030-01-31T08:00"
    )]
    Shape,
    #[error("this time is in the past: omit --begin to start as soon as possible")]
    Past,
    #[error("this time is in the past: a deadline must be in the future")]
    Over,
}

/// Reads `--begin`, relative to the present.
///
/// # Errors
/// [`BeginError`].
pub fn read_begin(text: &str) -> Result<Time, BeginError> {
    read_begin_relative(text, &Zoned::now())
}

/// Reads `--deadline`, or the end of a reservation, relative to the present.
///
/// # Errors
/// [`BeginError`].
pub fn read_deadline(text: &str) -> Result<Time, BeginError> {
    read_deadline_relative(text, &Zoned::now())
}

fn read_deadline_relative(text: &str, now: &Zoned) -> Result<Time, BeginError> {
    match read_begin_relative(text, now) {
        Ok(at) if at <= to_time(now.timestamp()) => Err(BeginError::Over),
        Err(BeginError::Past) => Err(BeginError::Over),
        read => read,
    }
}

/// Reads `--begin`, relative to `now` and in its time zone.
fn read_begin_relative(text: &str, now: &Zoned) -> Result<Time, BeginError> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(offset) = text.strip_prefix("now") {
        return read_offset(offset.trim())
            .map(|span| to_time(now.timestamp()) + span)
            .ok_or(BeginError::Shape);
    }
    let clock = match text.as_str() {
        "today" => return Ok(to_time(now.timestamp())),
        "tomorrow" => return tomorrow_at(now, Clock::midnight()),
        "midnight" => Some(Clock::midnight()),
        "noon" => Some(Clock::constant(12, 0, 0, 0)),
        "teatime" => Some(Clock::constant(16, 0, 0, 0)),
        _ => read_clock(&text),
    };
    match clock {
        Some(clock) if clock > now.time() => at_time_on_day(now, clock),
        Some(clock) => tomorrow_at(now, clock),
        None => read_date(&text, now),
    }
}

/// An offset: `+1hour`, `+90` (seconds), or empty.
fn read_offset(text: &str) -> Option<Span> {
    if text.is_empty() {
        return Some(Span(0));
    }
    let text = text.strip_prefix('+')?.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().ok()?;
    let seconds = match text[digits..].trim() {
        "" | "s" | "second" | "seconds" => 1,
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 86_400,
        "week" | "weeks" => 604_800,
        _ => return None,
    };
    count.checked_mul(seconds).filter(|s| *s < 1 << 40).map(Span::from_seconds)
}

/// A time of day: `16:30`, `16:30:15`, `4:30pm`.
fn read_clock(text: &str) -> Option<Clock> {
    let (text, afternoon) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(rest), _) => (rest.trim_end(), Some(false)),
        (_, Some(rest)) => (rest.trim_end(), Some(true)),
        _ => (text, None),
    };
    let number = |part: &str| part.parse::<i8>().ok().filter(|n| *n >= 0);
    let parts = text.split(':').map(number).collect::<Option<Vec<i8>>>()?;
    let (hour, minute, second) = match parts.as_slice() {
        [h, m] => (*h, *m, 0),
        [h, m, s] => (*h, *m, *s),
        _ => return None,
    };
    let hour = match afternoon {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
    };
    Clock::new(hour, minute, second, 0).ok()
}

/// A date, with a time of day or midnight, and optionally with an offset (`Z`, `+02:00`).
fn read_date(text: &str, now: &Zoned) -> Result<Time, BeginError> {
    let text = text.to_ascii_uppercase();
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => {
            let local: DateTime = text.parse().map_err(|_| BeginError::Shape)?;
            local.to_zoned(now.time_zone().clone()).map_err(|_| BeginError::Shape)?.timestamp()
        }
    };
    if at < now.timestamp() { Err(BeginError::Past) } else { Ok(to_time(at)) }
}

fn at_time_on_day(day: &Zoned, clock: Clock) -> Result<Time, BeginError> {
    let at = day.with().time(clock).build().map_err(|_| BeginError::Shape)?;
    Ok(to_time(at.timestamp()))
}

fn tomorrow_at(now: &Zoned, clock: Clock) -> Result<Time, BeginError> {
    at_time_on_day(&now.tomorrow().map_err(|_| BeginError::Shape)?, clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon UTC of 1 June 2030.
    fn noon() -> Zoned {
        let noon = jiff::civil::date(2030, 6, 1).at(12, 0, 0, 0);
        noon.to_zoned(jiff::tz::TimeZone::UTC).unwrap()
    }

    fn read(text: &str) -> Result<String, BeginError> {
        read_begin_relative(text, &noon()).map(|at| at.to_string())
    }

    #[test]
    fn the_formats_of_sbatch_are_read() {
        for (text, at) in [
            ("now", "2030-06-01T12:00:00Z"),
            ("now+90", "2030-06-01T12:01:30Z"),
            ("now+1hour", "2030-06-01T13:00:00Z"),
            ("now + 2days", "2030-06-03T12:00:00Z"),
            ("16:30", "2030-06-01T16:30:00Z"),
            ("4:30PM", "2030-06-01T16:30:00Z"),
            ("09:00:05", "2030-06-02T09:00:05Z"),
            ("midnight", "2030-06-02T00:00:00Z"),
            ("noon", "2030-06-02T12:00:00Z"),
            ("tomorrow", "2030-06-02T00:00:00Z"),
            ("2030-07-04", "2030-07-04T00:00:00Z"),
            ("2030-07-04T08:15", "2030-07-04T08:15:00Z"),
            ("2030-07-04 08:15:30", "2030-07-04T08:15:30Z"),
            ("2030-07-04T08:15:30+02:00", "2030-07-04T06:15:30Z"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(at), "{text}");
        }
    }

    #[test]
    fn invalid_and_past_times_are_refused() {
        for text in ["", "soon", "now+", "now-1hour", "now+1parsec", "25:00", "13:00pm", "12", "-1"]
        {
            assert_eq!(read(text), Err(BeginError::Shape), "{text}");
        }
        assert_eq!(read("now+99999999999999999999"), Err(BeginError::Shape));
        assert_eq!(read("2020-01-01"), Err(BeginError::Past));
    }

    #[test]
    fn a_deadline_must_be_in_the_future() {
        let read = |text| read_deadline_relative(text, &noon()).map(|at| at.to_string());
        assert_eq!(read("now+2hours").as_deref(), Ok("2030-06-01T14:00:00Z"));
        assert_eq!(read("2020-01-01"), Err(BeginError::Over));
        assert_eq!(read("now"), Err(BeginError::Over));
        assert_eq!(read("soon"), Err(BeginError::Shape));
    }
}
