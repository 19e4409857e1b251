//! Values as words of a page.

use common::id::JobKey;
use common::text::escape_hidden;
use common::time::{Span, Time};
use maud::{Markup, html};
use std::borrow::Cow;

/// A text of a user, with control and format characters as escapes.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    escape_hidden(text)
}

/// A sentence of the controller, with the commands in it as code.
pub fn sentence(text: &str) -> Markup {
    let text = escape_invisible(text);
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A time, as the span before or after `now`, with the time itself as a tooltip.
pub fn ago(at: Time, now: Time) -> Markup {
    let text = match at > now {
        true => format!("in {}", roughly(at.since(now))),
        false => format!("{} ago", roughly(now.since(at))),
    };
    html! { time datetime=(at) title=(at) { (text) } }
}

/// A time of a list that is read from top to bottom.
pub fn stamp(at: Time) -> Markup {
    let text = at.to_string().replace('T', " ").replace('Z', "");
    html! { time datetime=(at) title="UTC" { (text) } }
}

/// A span in its largest one or two units.
pub fn roughly(span: Span) -> String {
    let seconds = span.seconds();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, 0) => format!("{hours} h"),
        (0, ..) => format!("{hours} h {minutes:02} min"),
        (_, 0, _) => format!("{days} d"),
        _ => format!("{days} d {hours} h"),
    }
}

/// A job's id as a link to its page.
pub fn job_link(key: JobKey) -> Markup {
    html! { a href={ "/jobs/" (percent_encode(&key.to_string())) } { (key) } }
}

/// A text as part of a path or a query: everything but unreserved characters is escaped.
/// Source: RFC 3986, section 2.3.
pub fn percent_encode(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// A count with its noun: `1 job`, `2 jobs`.
pub fn count_with_noun(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rounded_to_what_a_reader_needs() {
        let spans =
            [5, 65, 3_725, 7_200, 90_000].map(|seconds| roughly(Span::from_seconds(seconds)));
        assert_eq!(spans, ["5 s", "1 min", "1 h 02 min", "2 h", "1 d 1 h"]);
        let text = ago(Time(1_000), Time(61_000)).into_string();
        assert!(text.contains("1 min ago") && text.contains("1970-01-01T00:00:01Z"), "{text}");
        assert!(ago(Time(61_000), Time(1_000)).into_string().contains("in 1 min"));
    }

    #[test]
    fn a_command_in_a_sentence_is_code_and_the_rest_is_text() {
        let text = sentence("see `kantctl <x>`, or <b>").into_string();
        assert_eq!(text, "see <code>kantctl &lt;x&gt;</code>, or &lt;b&gt;");
    }

    #[test]
    fn a_text_in_a_path_cannot_leave_its_place() {
        assert_eq!(percent_encode("42_7"), "42_7");
        assert_eq!(percent_encode("a/../\"?&é"), "a%2F..%2F%22%3F%26%C3%A9");
    }
}
