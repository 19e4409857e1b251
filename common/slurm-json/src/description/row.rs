//! A row of the table of fields.

use super::Description;
use crate::input;
use crate::version::Version;
use common::job::attributes::Attribute;
use serde_json::Value;

/// Reads a value into a description.
type Read = fn(&mut Description, &Value) -> Result<(), String>;

/// How a field is read.
#[derive(Clone, Copy)]
pub(super) enum Reading {
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
    Own(Read),
    /// The same for an object of any names.
    Names(Read),
    /// It has no effect, for this reason.
    Unused(&'static str),
    /// It would change the job, and kant has no equal, for this reason.
    Refused(&'static str),
}

/// A field, and the versions that have it.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) from: Version,
    pub(super) until: Version,
    pub(super) reading: Reading,
}

pub(super) const fn field(name: &'static str, reading: Reading) -> Row {
    Row { name, from: Version::V38, until: Version::V45, reading }
}

impl Row {
    pub(super) const fn since_version(self, from: Version) -> Self {
        Self { from, ..self }
    }

    pub(super) const fn until_version(self, until: Version) -> Self {
        Self { until, ..self }
    }

    /// Whether this value says nothing.
    pub(super) fn is_unset(&self, value: &Value) -> Result<bool, String> {
        match self.reading {
            Reading::Names(_) => Ok(input::is_empty(value)),
            _ => input::is_unset(value),
        }
    }

    /// The attribute that the field alone sets.
    pub(super) const fn attribute(&self) -> Option<Attribute> {
        match self.reading {
            Reading::Text(attribute)
            | Reading::Number(attribute)
            | Reading::Mebibytes(attribute)
            | Reading::Minutes(attribute)
            | Reading::Time(attribute)
            | Reading::List(attribute)
            | Reading::Gpus(attribute) => Some(attribute),
            Reading::Own(_) | Reading::Names(_) | Reading::Unused(_) | Reading::Refused(_) => None,
        }
    }
}
