//! A job as a client describes it (`job_desc_msg`), field by field: one table says which attribute
//! of kant each field sets. A field that kant has no equal for is refused, or named in a warning
//! where the job runs the same without it.
//! Source: Slurm's OpenAPI documents, `job_desc_msg` (0.0.38: `job_properties`).

mod gpus;
mod own;
mod table;

use crate::input;
use crate::version::Version;
use common::job::Rlimit;
use common::job::attributes::{Attribute, Given, TimeLimit, read_value};
use common::time::{Span, Time};
use common::unit::Bytes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use table::FIELDS;

/// What a description says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    pub given: Given,
    pub args: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub script: Option<String>,
    pub rlimits: Vec<Rlimit>,
    /// The names or numbers that the job should belong to.
    pub user: Option<String>,
    pub group: Option<String>,
    /// Whether to hold or release it.
    pub hold: Option<bool>,
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

/// How a field is read.
#[derive(Clone, Copy)]
enum Reading {
    /// The text of the attribute's option.
    Text(Attribute),
    /// A number.
    Number(Attribute),
    /// A number of MiB, or a text with a unit.
    Mebibytes(Attribute),
    /// A number of minutes, infinite, or a text such as `1-12:00:00`.
    Minutes(Attribute),
    /// In seconds since 1970; 0: not given.
    Time(Attribute),
    /// A list, which the option has with commas.
    List(Attribute),
    /// GPUs in Slurm's form: `gres:gpu:h100:2`.
    Gpus(Attribute),
    Own(fn(&mut Description, &Value) -> Result<(), String>),
    /// It has no effect, for this reason.
    Unused(&'static str),
    /// It would change the job, and kant has no equal, for this reason.
    Refused(&'static str),
}

/// A field, and the versions that have it.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    from: Version,
    until: Version,
    reading: Reading,
}

const fn field(name: &'static str, reading: Reading) -> Row {
    Row { name, from: Version::V38, until: Version::V45, reading }
}

impl Row {
    const fn from(self, from: Version) -> Self {
        Self { from, ..self }
    }

    const fn until(self, until: Version) -> Self {
        Self { until, ..self }
    }
}

impl Description {
    /// Reads the fields of a description.
    ///
    /// # Errors
    /// [`DescriptionError`] for the first field that is unknown, or that cannot be read.
    pub fn read(fields: &Map<String, Value>, version: Version) -> Result<Self, DescriptionError> {
        let mut description = Self::default();
        for (name, value) in fields {
            let of_version = |row: &&Row| (row.from..=row.until).contains(&version);
            let row = FIELDS.iter().filter(of_version).find(|row| row.name == name);
            let Some(row) = row else {
                return Err(DescriptionError::Unknown { field: name.clone(), version });
            };
            if !input::is_unset(value) {
                let failed = |why| DescriptionError::Field { field: name.clone(), why };
                description.read_field(row, value).map_err(failed)?;
            }
        }
        let failed = |field: &str| {
            let field = field.to_owned();
            move |why| DescriptionError::Field { field, why }
        };
        description.join_nodes().map_err(failed("nodes"))?;
        description.join_warning_signal().map_err(failed("kill_warning_signal"))?;
        Ok(description)
    }

    fn read_field(&mut self, row: &Row, value: &Value) -> Result<(), String> {
        match row.reading {
            Reading::Text(attribute) => self.set_text(attribute, &input::text(value)?),
            Reading::Number(attribute) => match input::number(value)? {
                // Slurm's default of numbers without a state.
                0 => Ok(()),
                number => self.set_text(attribute, &number.to_string()),
            },
            Reading::Mebibytes(attribute) => self.set_mebibytes(attribute, value),
            Reading::Minutes(attribute) => self.set_minutes(attribute, value),
            Reading::Time(attribute) => match input::number(value)? {
                0 => Ok(()),
                seconds => {
                    let seconds = u64::try_from(seconds).map_err(|_| "write a time after 1970");
                    self.given.set(attribute, Time(seconds?.saturating_mul(1000)));
                    Ok(())
                }
            },
            Reading::List(attribute) => self.set_text(attribute, &input::list(value)?.join(",")),
            Reading::Gpus(attribute) => gpus::set(self, attribute, &input::text(value)?),
            Reading::Own(read) => read(self, value),
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
        let text = match (text, least, most) {
            (Some(text), ..) => text,
            (None, Some(least), Some(most)) => format!("{least}-{most}"),
            (None, Some(one), None) | (None, None, Some(one)) => one.to_string(),
            (None, None, None) => return Ok(()),
        };
        self.set_text(Attribute::Nodes, &text)
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
        _ => input::is_unset(value),
    }
}

#[cfg(test)]
mod tests;
