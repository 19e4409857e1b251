//! The tables of fields: where each one stands in each version, and how its value is written there.

use crate::version::Version;
use common::job::ExitStatus;
use common::time::{Span, Time};
use serde_json::{Map, Value, json};

/// Where a field stands: its path in the object, with dots between levels.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// In 0.0.38; `None`: not there.
    plain: Option<&'static str>,
    /// From 0.0.40 on; `None`: not there.
    stated: Option<&'static str>,
    /// The first and the last version of `stated`.
    from: Version,
    until: Version,
}

/// In all versions, at the same path.
pub const fn in_all_versions(path: &'static str) -> Place {
    moved_in_v40(path, path)
}

/// Only in 0.0.38.
pub const fn only_v38(path: &'static str) -> Place {
    Place { plain: Some(path), stated: None, from: Version::V40, until: Version::V45 }
}

/// Only from 0.0.40 on.
pub const fn since_v40(path: &'static str) -> Place {
    Place { plain: None, stated: Some(path), from: Version::V40, until: Version::V45 }
}

/// In all versions, at another path from 0.0.40 on.
pub const fn moved_in_v40(plain: &'static str, stated: &'static str) -> Place {
    Place { plain: Some(plain), stated: Some(stated), from: Version::V40, until: Version::V45 }
}

impl Place {
    /// Of the versions from 0.0.40 on, only from this one on.
    pub const fn since_version(self, from: Version) -> Self {
        Self { from, ..self }
    }

    /// Of the versions from 0.0.40 on, only up to this one.
    pub const fn until_version(self, until: Version) -> Self {
        Self { until, ..self }
    }

    /// The path in a version.
    #[must_use]
    pub fn path(&self, version: Version) -> Option<&'static str> {
        match version.is_plain() {
            true => self.plain,
            false => self.stated.filter(|_| (self.from..=self.until).contains(&version)),
        }
    }
}

/// The value of a field, before the version decides how it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Left out of the object.
    Absent,
    /// The same in all versions.
    Same(Value),
    /// From 0.0.40 on with its state; in 0.0.38 null if not set.
    Number(Option<u64>),
    /// The same, but in 0.0.38 zero if not set.
    Count(Option<u64>),
    /// Unlimited if `None`: infinite, or zero in 0.0.38.
    Limit(Option<u64>),
    /// A fraction, from 0.0.40 on with its state.
    Real(f64),
    /// In seconds since 1970; from 0.0.40 on with a state, which is set for an unknown time too.
    Time(Option<Time>),
    /// Seconds since 1970 without a state in every version.
    Seconds(Option<Time>),
    /// A word; from 0.0.40 on a list.
    Word(String),
    /// Words that 0.0.38 has as one text, separated by commas.
    Words(Vec<String>),
    /// An exit status as wait(2) encodes it; from 0.0.40 on an object.
    Exit(ExitStatus),
    /// The same, with an object in 0.0.38 as well.
    ExitObject(ExitStatus),
}

impl Field {
    pub fn text(text: impl ToString) -> Self {
        Self::Same(Value::String(text.to_string()))
    }

    /// The text, or an empty one.
    pub fn text_or_empty(text: Option<impl ToString>) -> Self {
        Self::Same(Value::String(text.map(|text| text.to_string()).unwrap_or_default()))
    }

    /// A number that has no state in any version.
    pub fn integer_value(number: impl Into<i64>) -> Self {
        Self::Same(json!(number.into()))
    }

    pub fn flag(flag: bool) -> Self {
        Self::Same(Value::Bool(flag))
    }

    /// Minutes, rounded up; unlimited if `None`.
    #[must_use]
    pub fn minutes(span: Option<Span>) -> Self {
        Self::Limit(span.map(|span| span.seconds().div_ceil(60)))
    }

    /// The value as a version writes it.
    #[must_use]
    pub fn to_json(self, version: Version) -> Value {
        let plain = version.is_plain();
        match self {
            Self::Same(value) => value,
            Self::Absent => Value::Null,
            Self::Number(number) if plain => json!(number),
            Self::Count(number) | Self::Limit(number) if plain => json!(number.unwrap_or(0)),
            Self::Number(number) | Self::Count(number) => number_object(number),
            Self::Limit(None) => json!({ "set": false, "infinite": true, "number": 0 }),
            Self::Limit(number) => number_object(number),
            Self::Real(number) if plain => json!(number),
            Self::Real(number) => json!({ "set": true, "infinite": false, "number": number }),
            Self::Time(at) if plain => json!(unix_seconds(at)),
            Self::Time(at) => number_object(Some(unix_seconds(at))),
            Self::Seconds(at) => json!(unix_seconds(at)),
            Self::Word(word) if plain => json!(word),
            Self::Word(word) => json!([word]),
            Self::Words(words) if plain => json!(words.join(",")),
            Self::Words(words) => json!(words),
            // The code above the signal.
            Self::Exit(exit) if plain => {
                json!(u32::from(exit.code) << 8 | u32::from(exit.signal.unwrap_or(0)))
            }
            Self::ExitObject(exit) if plain => exit_v38(exit),
            Self::Exit(exit) | Self::ExitObject(exit) => exit_since_v40(exit),
        }
    }
}

/// A number with its state.
fn number_object(number: Option<u64>) -> Value {
    json!({ "set": number.is_some(), "infinite": false, "number": number.unwrap_or(0) })
}

fn exit_since_v40(exit: ExitStatus) -> Value {
    let word = match exit.signal {
        Some(_) => "SIGNALED",
        None if exit.code == 0 => "SUCCESS",
        None => "ERROR",
    };
    let signal = json!({ "id": number_object(exit.signal.map(u64::from)), "name": "" });
    let code = number_object(Some(exit.code.into()));
    json!({ "status": [word], "return_code": code, "signal": signal })
}

fn exit_v38(exit: ExitStatus) -> Value {
    match exit.signal {
        Some(signal) => json!({
            "status": "SIGNALED",
            "return_code": exit.code,
            "signal": { "signal_id": signal, "name": null },
        }),
        None if exit.code == 0 => json!({ "status": "SUCCESS", "return_code": 0 }),
        None => json!({ "status": "ERROR", "return_code": exit.code }),
    }
}

/// Seconds since 1970; 0 for `None`.
#[must_use]
pub fn unix_seconds(at: Option<Time>) -> u64 {
    at.map_or(0, |at| at.0 / 1000)
}

/// The object of a table's rows: `value` gives the field of a row that the version has.
pub fn object<R>(
    version: Version,
    rows: &[(Place, R)],
    value: impl Fn(&R) -> Field,
) -> Map<String, Value> {
    let mut fields = Map::new();
    for (place, row) in rows {
        let Some(path) = place.path(version) else { continue };
        match value(row) {
            Field::Absent => {}
            field => insert(&mut fields, path, field.to_json(version)),
        }
    }
    fields
}

/// Inserts a value at a path, below the objects that lead to it.
fn insert(fields: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        fields.insert(path.to_owned(), value);
        return;
    };
    let below = fields.entry(first).or_insert_with(|| Value::Object(Map::new()));
    // A test shows that no path leads through another field.
    if let Value::Object(below) = below {
        insert(below, rest, value);
    }
}

/// Whether no path of the table leads through another, and none is there twice.
#[cfg(test)]
pub fn check_table<R>(rows: &[(Place, R)]) {
    for version in Version::all() {
        let paths: Vec<&str> = rows.iter().filter_map(|(place, _)| place.path(version)).collect();
        for (place, path) in paths.iter().enumerate() {
            for other in &paths[place + 1..] {
                let leads =
                    |a: &str, b: &str| b.strip_prefix(a).is_some_and(|b| b.starts_with('.'));
                let clash = path == other || leads(path, other) || leads(other, path);
                assert!(!clash, "{version}: {path} and {other}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_state_from_0_0_40_on() {
        let written = |field: Field| {
            let field = &field;
            [Version::V38, Version::V40].map(|version| field.clone().to_json(version))
        };
        let state =
            |set, infinite, number| json!({ "set": set, "infinite": infinite, "number": number });
        assert_eq!(written(Field::Number(Some(4))), [json!(4), state(true, false, 4)]);
        assert_eq!(written(Field::Number(None)), [json!(null), state(false, false, 0)]);
        assert_eq!(written(Field::Count(None)), [json!(0), state(false, false, 0)]);
        assert_eq!(written(Field::Limit(None)), [json!(0), state(false, true, 0)]);
        assert_eq!(written(Field::Time(None)), [json!(0), state(true, false, 0)]);
        let at = Some(Time(5_999));
        assert_eq!(written(Field::Time(at)), [json!(5), state(true, false, 5)]);
        assert_eq!(written(Field::Seconds(at)), [json!(5), json!(5)]);
        assert_eq!(written(Field::Word("IDLE".to_owned())), [json!("IDLE"), json!(["IDLE"])]);
        let words = Field::Words(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(written(words), [json!("a,b"), json!(["a", "b"])]);
    }

    #[test]
    fn an_exit_is_a_number_of_wait_or_an_object() {
        let killed = ExitStatus { code: 0, signal: Some(9) };
        let failed = ExitStatus { code: 3, signal: None };
        assert_eq!(Field::Exit(killed).to_json(Version::V38), 9);
        assert_eq!(Field::Exit(failed).to_json(Version::V38), 3 << 8);
        let object = Field::ExitObject(failed).to_json(Version::V38);
        assert_eq!(object, json!({ "status": "ERROR", "return_code": 3 }));
        let number = |set, number| json!({ "set": set, "infinite": false, "number": number });
        assert_eq!(
            Field::Exit(killed).to_json(Version::V44),
            json!({
                "status": ["SIGNALED"],
                "return_code": number(true, 0),
                "signal": { "id": number(true, 9), "name": "" },
            })
        );
    }

    #[test]
    fn a_place_is_a_path_in_some_versions() {
        let late = since_v40("a.b").since_version(Version::V43);
        assert_eq!((late.path(Version::V38), late.path(Version::V42)), (None, None));
        assert_eq!(late.path(Version::V43), Some("a.b"));
        let early = moved_in_v40("free_memory", "free_mem").until_version(Version::V41);
        assert_eq!(early.path(Version::V38), Some("free_memory"));
        assert_eq!(early.path(Version::V41), Some("free_mem"));
        assert_eq!(early.path(Version::V42), None);
        let rows = [(late, 1), (since_v40("a.c"), 2), (only_v38("d"), 3)];
        let shown = object(Version::V44, &rows, |row| Field::integer_value(*row));
        assert_eq!(Value::Object(shown), json!({ "a": { "b": 1, "c": 2 } }));
    }
}
