//! A job as a client describes it (`job_desc_msg`), field by field: one table says which attribute
//! of kant each field sets. A field that kant has no equal for is refused, or named in a warning
//! where the job runs the same without it.
//! Source: Slurm's OpenAPI documents, `job_desc_msg` (0.0.38: `job_properties`).

mod gpus;
mod own;
mod row;
mod table;

use crate::input;
use crate::version::Version;
use common::job::Rlimit;
use common::job::attributes::{Attribute, Given, NodeCount, TimeLimit, read_value};
use common::time::{Span, Time};
use common::unit::Bytes;
use row::{Reading, Row};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use table::FIELDS;

/// What a description is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    #[default]
    Submission,
    /// Of a job that there is. An empty value removes what the field sets.
    Change,
}

/// What a description says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    purpose: Purpose,
    pub given: Given,
    /// The attributes that a change removes.
    pub removed: BTreeSet<Attribute>,
    /// The field that sets or removes each attribute.
    fields: BTreeMap<Attribute, &'static str>,
    pub args: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub script: Option<String>,
    pub rlimits: Vec<Rlimit>,
    /// The names or numbers that the job should belong to.
    pub user: Option<String>,
    pub group: Option<String>,
    /// Whether to hold or release it.
    pub hold: Option<bool>,
    /// Whether it has a priority other than 0, which in a change releases a held job.
    pub has_priority: bool,
    /// The parts of a warning signal, which are three fields.
    warning_signal: WarningSignal,
    nodes: Nodes,
    /// Fields without effect, in sentences.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct WarningSignal {
    signal: Option<String>,
    delay_seconds: Option<i64>,
    only_script: bool,
}

/// The number of nodes, which is up to three fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Nodes {
    text: Option<String>,
    least: Option<i64>,
    most: Option<i64>,
}

/// A field that cannot be read, or that kant has no equal for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    #[error("{field}: {why}")]
    Field { field: String, why: String },
    #[error("{version} has no field `{field}` of a job: leave it out, or correct its name")]
    Unknown { field: String, version: Version },
}

impl Description {
    /// Reads the fields of a description.
    ///
    /// # Errors
    /// [`DescriptionError`] for the first field that is unknown, that cannot be read, or that
    /// contradicts another one.
    pub fn read(
        fields: &Map<String, Value>,
        version: Version,
        purpose: Purpose,
    ) -> Result<Self, DescriptionError> {
        let mut description = Self { purpose, ..Self::default() };
        for (name, value) in fields {
            let of_version = |row: &&Row| (row.from..=row.until).contains(&version);
            let row = FIELDS.iter().filter(of_version).find(|row| row.name == name);
            let Some(row) = row else {
                return Err(DescriptionError::Unknown { field: name.clone(), version });
            };
            let failed = |why| DescriptionError::Field { field: name.clone(), why };
            description.read_row(row, value).map_err(failed)?;
        }
        for (field, join) in [
            ("nodes", Self::join_nodes as fn(&mut Self) -> Result<(), String>),
            ("kill_warning_signal", Self::join_warning_signal),
        ] {
            let failed = |why| DescriptionError::Field { field: field.to_owned(), why };
            description.set_once(field, join).map_err(failed)?;
        }
        Ok(description)
    }

    /// The field that sets or removes an attribute.
    #[must_use]
    pub fn field_of(&self, attribute: Attribute) -> &'static str {
        self.fields.get(&attribute).copied().unwrap_or(attribute.row().option)
    }

    fn read_row(&mut self, row: &Row, value: &Value) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        match row.is_unset(value)? {
            true if input::is_empty(value) => self.clear(row),
            true => Ok(()),
            false => self.set_once(row.name, |description| description.read_field(row, value)),
        }
    }

    /// Sets the attributes of a field, unless another field has set them, or an alternative.
    fn set_once(
        &mut self,
        field: &'static str,
        set: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let others = std::mem::take(&mut self.given);
        let result = set(self);
        let own = std::mem::replace(&mut self.given, others);
        result?;
        for (attribute, value) in own.values() {
            let same =
                |other: &Attribute| *other == attribute && self.given.value(*other) == Some(value);
            let mut alternatives = attribute.alternatives().chain([attribute]);
            let taken = alternatives.find(|other| self.fields.contains_key(other) && !same(other));
            if let Some(other) = taken {
                let other = self.field_of(other);
                return Err(format!("it contradicts {other}: leave one of them out"));
            }
            self.fields.insert(attribute, field);
            self.given.set(attribute, value.clone());
        }
        Ok(())
    }

    /// An empty value says nothing in a submission; in a change, it removes what the field sets.
    fn clear(&mut self, row: &Row) -> Result<(), String> {
        let has_no_effect = matches!(row.reading, Reading::Unused(_) | Reading::Refused(_));
        if self.purpose == Purpose::Submission || has_no_effect {
            return Ok(());
        }
        let attribute = row.attribute();
        let attribute = attribute.ok_or("it cannot be removed: give a value, or leave it out")?;
        self.fields.insert(attribute, row.name);
        self.removed.insert(attribute);
        Ok(())
    }

    fn read_field(&mut self, row: &Row, value: &Value) -> Result<(), String> {
        match row.reading {
            Reading::Text(attribute) => self.set_text(attribute, &input::text(value)?),
            Reading::Number(attribute) => match input::number(value)? {
                // Slurm's default of numbers without a state.
                0 if attribute != Attribute::Nice => self.clear(row),
                number => self.set_text(attribute, &number.to_string()),
            },
            Reading::Mebibytes(attribute) => self.set_mebibytes(attribute, value),
            Reading::Minutes(attribute) => self.set_minutes(attribute, value),
            Reading::Time(attribute) => match input::number(value)? {
                0 => self.clear(row),
                seconds => {
                    let seconds = u64::try_from(seconds).map_err(|_| "write a time after 1970");
                    self.given.set(attribute, Time(seconds?.saturating_mul(1000)));
                    Ok(())
                }
            },
            Reading::List(attribute) => self.set_text(attribute, &input::list(value)?.join(",")),
            Reading::Gpus(attribute) => gpus::set_gpus(self, attribute, &input::text(value)?),
            Reading::Own(read) | Reading::Names(read) => read(self, value),
            Reading::Unused(why) => {
                if !is_default(value) {
                    self.warnings.push(format!("{} has no effect: {why}", row.name));
                }
                Ok(())
            }
            Reading::Refused(_) if is_default(value) => Ok(()),
            Reading::Refused(why) => Err(format!("{why}: leave it out")),
        }
    }

    /// Sets an attribute from the text of its option.
    fn set_text(&mut self, attribute: Attribute, text: &str) -> Result<(), String> {
        let value = read_value(attribute.row().kind, text)?;
        self.given.set(attribute, value);
        Ok(())
    }

    fn set_mebibytes(&mut self, attribute: Attribute, value: &Value) -> Result<(), String> {
        let bytes = match value {
            Value::String(text) => text.parse::<Bytes>().map_err(|error| error.to_string())?,
            _ => {
                let number = u64::try_from(input::number(value)?);
                let number = number.ok().filter(|number| *number <= u64::MAX >> 20);
                Bytes::from_mib(number.ok_or("write a number of MiB")?)
            }
        };
        self.given.set(attribute, bytes);
        Ok(())
    }

    fn set_minutes(&mut self, attribute: Attribute, value: &Value) -> Result<(), String> {
        if let Value::String(text) = value {
            return self.set_text(attribute, text);
        }
        let limit = match input::amount(value)? {
            input::Amount::Infinite => TimeLimit(None),
            input::Amount::Of(minutes) => {
                let minutes = u32::try_from(minutes).ok().filter(|minutes| *minutes > 0);
                let minutes = minutes.ok_or("write a number of minutes from 1 on")?;
                TimeLimit(Some(Span::from_minutes(minutes.into())))
            }
        };
        self.given.set(attribute, limit);
        Ok(())
    }

    /// The number of nodes from its fields: `2`, `2-4`.
    fn join_nodes(&mut self) -> Result<(), String> {
        let Nodes { text, least, most } = std::mem::take(&mut self.nodes);
        let ends = match (least, most) {
            (Some(least), Some(most)) => Some(format!("{least}-{most}")),
            (Some(one), None) | (None, Some(one @ 1)) => Some(one.to_string()),
            (None, Some(most)) => Some(format!("1-{most}")),
            (None, None) => None,
        };
        let read = |text: String| text.parse::<NodeCount>().map_err(|error| error.to_string());
        let (text, ends) = (text.map(read).transpose()?, ends.map(read).transpose()?);
        match (text, ends) {
            (Some(text), Some(ends)) if text != ends => {
                Err("it contradicts minimum_nodes and maximum_nodes: leave one out".to_owned())
            }
            (Some(nodes), _) | (None, Some(nodes)) => {
                self.given.set(Attribute::Nodes, nodes);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// `B:USR1@120`, from its fields.
    fn join_warning_signal(&mut self) -> Result<(), String> {
        let WarningSignal { signal, delay_seconds, only_script } =
            std::mem::take(&mut self.warning_signal);
        let Some(signal) = signal else { return Ok(()) };
        let script = if only_script { "B:" } else { "" };
        let delay = delay_seconds.map(|seconds| format!("@{seconds}")).unwrap_or_default();
        self.set_text(Attribute::Signal, &format!("{script}{signal}{delay}"))
    }
}

/// Whether a value of a field without equal asks for nothing.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Object(_) => input::number(value) == Ok(0),
        _ => input::is_empty(value),
    }
}

#[cfg(test)]
mod tests;
