//! Reading the text of an attribute's value. Times are not read here, because users write them in
//! local time and relative to the present.

use super::{GpuCount, GpusValue, Gres, Hosts, Kind, NodeCount, Switches, TaskCount, TimeLimit};
use super::{Value, read_count, read_kinds, read_launch, read_near, read_queue};
use crate::constraint::Constraint;
use crate::job::mail::addresses;
use crate::job::{ArraySpec, DataNames, Dependency, MailEvents, OpenMode, ResizeSignal, Warning};
use crate::unit::Bytes;
use std::fmt::Display;
use std::str::FromStr;

/// Reads a value of this kind.
///
/// # Errors
/// The forms that can be written; for a time, that it must be given as one.
pub fn read_value(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Account => text.parse().map(Value::Account).map_err(error_text),
        Kind::Array => parse::<ArraySpec>(text),
        Kind::Begin | Kind::Deadline => Err("give a time, not a text".to_owned()),
        Kind::Bytes => parse::<Bytes>(text),
        Kind::Constraint => parse::<Constraint>(text),
        Kind::Count => read_count(text).map(Value::Count).map_err(error_text),
        Kind::Data => parse::<DataNames>(text),
        Kind::Dependency => parse::<Dependency>(text),
        Kind::Flag => Ok(Value::Flag(true)),
        Kind::GpuCount => parse::<GpuCount>(text),
        Kind::GpuKinds => read_kinds(text).map(Value::GpuKinds).map_err(error_text),
        Kind::Gpus => parse::<GpusValue>(text),
        Kind::Gres => parse::<Gres>(text),
        Kind::Hosts => parse::<Hosts>(text),
        Kind::Launch => read_launch(text).map(Value::Launch).map_err(error_text),
        Kind::MailAddress => {
            addresses(text).map(|_| Value::Text(text.to_owned())).map_err(error_text)
        }
        Kind::MailEvents => parse::<MailEvents>(text),
        Kind::Near => read_near(text).map(Value::Near).map_err(error_text),
        Kind::Nice => parse::<i32>(text),
        Kind::NodeCount => parse::<NodeCount>(text),
        Kind::OpenMode => match text {
            "append" => Ok(Value::OpenMode(OpenMode::Append)),
            "truncate" => Ok(Value::OpenMode(OpenMode::Truncate)),
            _ => Err("write append or truncate".to_owned()),
        },
        Kind::Qos => text.parse().map(Value::Qos).map_err(error_text),
        Kind::Queue => read_queue(text).map(Value::Queue).map_err(error_text),
        Kind::Reservation => text.parse().map(Value::Reservation).map_err(error_text),
        Kind::ResizeSignal => parse::<ResizeSignal>(text),
        Kind::Signal => parse::<Warning>(text),
        Kind::Switches => parse::<Switches>(text),
        Kind::TaskCount => parse::<TaskCount>(text),
        Kind::Export | Kind::Text => Ok(Value::Text(text.to_owned())),
        Kind::TimeLimit => parse::<TimeLimit>(text),
        Kind::YesNo => match text {
            "yes" => Ok(Value::Flag(true)),
            "no" => Ok(Value::Flag(false)),
            _ => Err("write yes or no".to_owned()),
        },
    }
}

fn parse<T: FromStr<Err: Display> + Into<Value>>(text: &str) -> Result<Value, String> {
    text.parse::<T>().map(Into::into).map_err(error_text)
}

fn error_text(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_value_is_read_as_the_same_value() {
        for (kind, text) in [
            (Kind::Account, "vision"),
            (Kind::Array, "0-9%3"),
            (Kind::Bytes, "2G"),
            (Kind::Constraint, "a100&ib"),
            (Kind::Dependency, "afterok:20,afterany:22_3"),
            (Kind::GpuCount, "a100|h100:2"),
            (Kind::GpuKinds, "a100|h100"),
            (Kind::Gpus, "h100:8"),
            (Kind::Gpus, "2x0.5"),
            (Kind::Gres, "gpu:h100:2"),
            (Kind::Gres, "none"),
            (Kind::Hosts, "g[001-004]"),
            (Kind::Launch, "per-task"),
            (Kind::MailEvents, "END,FAIL"),
            (Kind::Near, "leaf:required"),
            (Kind::Nice, "-3"),
            (Kind::NodeCount, "1-4"),
            (Kind::OpenMode, "append"),
            (Kind::ResizeSignal, "B:USR1"),
            (Kind::Signal, "B:USR1@120"),
            (Kind::TaskCount, "2-8"),
            (Kind::TimeLimit, "UNLIMITED"),
            (Kind::TimeLimit, "01:30:00"),
            (Kind::YesNo, "no"),
        ] {
            let value = read_value(kind, text).unwrap();
            assert_eq!(value.to_string(), text, "{kind:?}");
        }
    }

    #[test]
    fn an_invalid_value_is_refused_with_its_forms() {
        for (kind, text, form) in [
            (Kind::OpenMode, "x", "append or truncate"),
            (Kind::YesNo, "maybe", "yes or no"),
            (Kind::Count, "0", "whole number"),
            (Kind::MailAddress, "-x", "not a mail address"),
        ] {
            let error = read_value(kind, text).unwrap_err();
            assert!(error.contains(form), "{error}");
        }
        assert!(read_value(Kind::Begin, "now").is_err());
    }
}
