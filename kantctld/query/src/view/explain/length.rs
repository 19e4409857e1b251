//! Lengths of time as people write them, rounded.

use common::time::Span;

/// `40 s`, `25 min`, `3 h 10 min`, `2 days 4 h`: seconds under a minute, whole minutes under a day,
/// then whole hours.
pub(super) fn in_words(span: Span) -> String {
    let seconds = span.0.div_ceil(1000);
    let minutes = (seconds + 30) / 60;
    match minutes {
        _ if seconds < 60 => format!("{seconds} s"),
        0..60 => format!("{minutes} min"),
        60..1440 => with_smaller_unit(format!("{} h", minutes / 60), minutes % 60, "min"),
        _ => {
            let hours = (minutes + 30) / 60;
            let days =
                if hours / 24 == 1 { "1 day".to_owned() } else { format!("{} days", hours / 24) };
            with_smaller_unit(days, hours % 24, "h")
        }
    }
}

fn with_smaller_unit(large: String, small: u64, unit: &str) -> String {
    if small == 0 { large } else { format!("{large} {small} {unit}") }
}

/// A time limit for `--time` that ends within the span, with a margin of a twentieth of the span,
/// but 1 to 5 minutes: the user has to read and type it first. `None` if the span is too short.
pub(super) fn limit_within(span: Span) -> Option<String> {
    let minutes = span.seconds() / 60;
    time_limit_option(minutes.saturating_sub((minutes / 20).clamp(1, 5)))
}

/// A time limit that ends within a span that begins later. It needs no margin for typing.
pub(super) fn limit_until(span: Span) -> Option<String> {
    time_limit_option(span.seconds().saturating_sub(1) / 60)
}

fn time_limit_option(minutes: u64) -> Option<String> {
    match minutes {
        0 => None,
        minutes if minutes % 60 == 0 => Some(format!("{}h", minutes / 60)),
        minutes => Some(format!("{minutes}m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_as_people_say_them() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (61, "1 min"),
            (90, "2 min"),
            (3600, "1 h"),
            (11_400, "3 h 10 min"),
            (86_400, "1 day"),
            (187_200, "2 days 4 h"),
            (86_399, "1 day"),
        ] {
            assert_eq!(in_words(Span::from_seconds(seconds)), text);
        }
        assert_eq!(in_words(Span(1)), "1 s");
    }

    #[test]
    fn a_limit_within_a_span_can_be_asked_for_and_ends_in_time() {
        for (seconds, text) in
            [(119, None), (120, Some("1m")), (3600, Some("57m")), (7500, Some("2h"))]
        {
            let span = Span::from_seconds(seconds);
            let limit = limit_within(span);
            assert_eq!(limit.as_deref(), text);
            assert!(limit.is_none_or(|limit| limit.parse::<Span>().unwrap() < span));
            let later = limit_until(span);
            assert!(later.is_none_or(|limit| limit.parse::<Span>().unwrap() < span));
        }
    }
}
