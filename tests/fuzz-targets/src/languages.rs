//! The small languages of users: directives of scripts, values of attributes, lists of hosts,
//! times. What is shown of a value must be read again.

use cli::submission::value::read_value;
use common::hostlist as hosts;
use common::job::attributes::ROWS;
use common::job::{ArraySpec, Constraint, Dependency};
use common::time::Span;
use std::fmt::Display;
use std::str::FromStr;

/// Reads the directives of a script.
pub fn directives(bytes: &[u8]) {
    let Ok(script) = std::str::from_utf8(bytes) else { return };
    let _ = cli::directive::read("script", script);
}

/// Reads a value of each kind of attribute.
pub fn attribute(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for row in ROWS {
        let _ = read_value(row.kind, text);
    }
    is_shown_as_read::<ArraySpec>(text);
    is_shown_as_read::<Constraint>(text);
    is_shown_as_read::<Dependency>(text);
}

/// Expands a list of hosts; the list of the names is expanded to the same names.
pub fn hostlist(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut names) = hosts::expand(text) else { return };
    let folded = hosts::compress(&names);
    let mut again = hosts::expand(&folded).unwrap_or_else(|error| panic!("{folded}: {error}"));
    names.sort();
    names.dedup();
    again.sort();
    assert_eq!(names, again, "{folded}");
}

/// Reads a span, and a point of time as Slurm writes it.
pub fn time(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(span) = text.parse::<Span>() {
        let _ = span.to_string();
        let _ = cli::slurm_time::long_span(span);
        let _ = cli::slurm_time::short_span(span);
    }
    let now = common::time::Time(1_764_000_000_000);
    let zone = jiff::tz::TimeZone::UTC;
    if let Ok(time) = cli::slurm_time::parse_time(text, now, &zone) {
        let _ = cli::slurm_time::format_time(time, &zone);
    }
}

/// What is shown is read, and shown as the same again. (Texts may say the same in two ways, as the
/// arrays `10` and `10:90` do.)
fn is_shown_as_read<T: FromStr<Err: Display> + Display>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let shown = value.to_string();
    match shown.parse::<T>() {
        Ok(again) => assert_eq!(again.to_string(), shown, "of {text}"),
        Err(error) => panic!("{text} is shown as {shown}, which is refused: {error}"),
    }
}
