//! The values of job attributes.

use super::counts::{Hosts, NodeCount, TaskCount, TimeLimit};
use super::gpus::{GpuCount, GpusValue, Gres};
use super::near::Switches;
use crate::constraint::Constraint;
use crate::gpu::GpuKind;
use crate::hostlist;
use crate::id::{AccountName, QosName, QueueName, ReservationName};
use crate::job::DataNames;
use crate::job::array::ArraySpec;
use crate::job::dependency::Dependency;
use crate::job::mail::MailEvents;
use crate::job::size::ResizeSignal;
use crate::job::spec::{Launch, OpenMode};
use crate::job::warning::Warning;
use crate::time::{Span, Time};
use crate::topology::Nearness;
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, Deserializer};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an attribute's value is, and so how its text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Account,
    Array,
    /// A point of time, as of `--begin`.
    Begin,
    Bytes,
    Constraint,
    /// From 1 on.
    Count,
    Data,
    /// A point of time in the future.
    Deadline,
    Dependency,
    /// Variables of the environment; the value is their text.
    Export,
    /// An option without a value.
    Flag,
    GpuCount,
    GpuKinds,
    Gpus,
    Gres,
    Hosts,
    Launch,
    /// An address or user; the value is the text.
    MailAddress,
    MailEvents,
    Near,
    Nice,
    NodeCount,
    OpenMode,
    Qos,
    Queue,
    Reservation,
    ResizeSignal,
    Signal,
    Switches,
    TaskCount,
    Text,
    TimeLimit,
    YesNo,
}

/// A type of values.
pub trait FromValue: Sized {
    /// The value, if it is of this type.
    fn from_value(value: &Value) -> Option<&Self>;
}

macro_rules! values {
    ($($variant:ident($type:ty),)*) => {
        /// The value of an attribute. Its kind is known from the attribute, and not written.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
        #[serde(untagged)]
        pub enum Value {
            $($variant($type),)*
        }

        $(
            impl From<$type> for Value {
                fn from(value: $type) -> Self {
                    Self::$variant(value)
                }
            }

            impl FromValue for $type {
                fn from_value(value: &Value) -> Option<&Self> {
                    match value {
                        Value::$variant(value) => Some(value),
                        _ => None,
                    }
                }
            }
        )*
    };
}

values! {
    Account(AccountName),
    Array(ArraySpec),
    Bytes(Bytes),
    Constraint(Constraint),
    Count(u32),
    Data(DataNames),
    Dependency(Dependency),
    Flag(bool),
    GpuCount(GpuCount),
    GpuKinds(Vec<GpuKind>),
    Gpus(GpusValue),
    Gres(Gres),
    Hosts(Hosts),
    Integer(i32),
    Launch(Launch),
    MailEvents(MailEvents),
    Near(Nearness),
    NodeCount(NodeCount),
    OpenMode(OpenMode),
    Qos(QosName),
    Queue(QueueName),
    Reservation(ReservationName),
    ResizeSignal(ResizeSignal),
    Signal(Warning),
    Switches(Switches),
    TaskCount(TaskCount),
    Text(String),
    Time(Time),
    TimeLimit(TimeLimit),
}

/// Reads a value of this kind, or null.
impl<'de> DeserializeSeed<'de> for Kind {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Value>, D::Error> {
        match self {
            Self::Account => deserialize_value::<AccountName, D>(from),
            Self::Array => deserialize_value::<ArraySpec, D>(from),
            Self::Begin | Self::Deadline => deserialize_value::<Time, D>(from),
            Self::Bytes => deserialize_value::<Bytes, D>(from),
            Self::Constraint => deserialize_value::<Constraint, D>(from),
            Self::Count => deserialize_value::<u32, D>(from),
            Self::Data => deserialize_value::<DataNames, D>(from),
            Self::Dependency => deserialize_value::<Dependency, D>(from),
            Self::Export | Self::MailAddress | Self::Text => deserialize_value::<String, D>(from),
            Self::Flag | Self::YesNo => deserialize_value::<bool, D>(from),
            Self::GpuCount => deserialize_value::<GpuCount, D>(from),
            Self::GpuKinds => deserialize_value::<Vec<GpuKind>, D>(from),
            Self::Gpus => deserialize_value::<GpusValue, D>(from),
            Self::Gres => deserialize_value::<Gres, D>(from),
            Self::Hosts => deserialize_value::<Hosts, D>(from),
            Self::Launch => deserialize_value::<Launch, D>(from),
            Self::MailEvents => deserialize_value::<MailEvents, D>(from),
            Self::Near => deserialize_value::<Nearness, D>(from),
            Self::Nice => deserialize_value::<i32, D>(from),
            Self::NodeCount => deserialize_value::<NodeCount, D>(from),
            Self::OpenMode => deserialize_value::<OpenMode, D>(from),
            Self::Qos => deserialize_value::<QosName, D>(from),
            Self::Queue => deserialize_value::<QueueName, D>(from),
            Self::Reservation => deserialize_value::<ReservationName, D>(from),
            Self::ResizeSignal => deserialize_value::<ResizeSignal, D>(from),
            Self::Signal => deserialize_value::<Warning, D>(from),
            Self::Switches => deserialize_value::<Switches, D>(from),
            Self::TaskCount => deserialize_value::<TaskCount, D>(from),
            // Null is no limit; a limit cannot be removed in another sense.
            Self::TimeLimit => {
                Ok(Some(Value::TimeLimit(TimeLimit(Option::<Span>::deserialize(from)?))))
            }
        }
    }
}

fn deserialize_value<'de, T, D>(from: D) -> Result<Option<Value>, D::Error>
where
    T: Deserialize<'de> + Into<Value>,
    D: Deserializer<'de>,
{
    Ok(Option::<T>::deserialize(from)?.map(Into::into))
}

/// A time limit of this length.
impl From<Span> for Value {
    fn from(limit: Span) -> Self {
        Self::TimeLimit(TimeLimit(Some(limit)))
    }
}

/// The text that is read as this value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(name) => name.fmt(f),
            Self::Array(array) => array.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Constraint(constraint) => constraint.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Data(names) => names.fmt(f),
            Self::Dependency(dependency) => dependency.fmt(f),
            Self::Flag(flag) => f.pad(if *flag { "yes" } else { "no" }),
            Self::GpuCount(gpus) => gpus.fmt(f),
            Self::GpuKinds(kinds) => f.pad(&super::gpus::join_kinds(kinds)),
            Self::Gpus(gpus) => gpus.fmt(f),
            Self::Gres(gres) => gres.fmt(f),
            Self::Hosts(hosts) => f.pad(&hostlist::compress(&hosts.0)),
            Self::Integer(number) => number.fmt(f),
            Self::Launch(launch) => f.pad(match launch {
                Launch::Once => "once",
                Launch::PerNode => "per-node",
                Launch::PerTask => "per-task",
                Launch::Held => "held",
            }),
            Self::MailEvents(events) => events.fmt(f),
            Self::Near(near) => near.fmt(f),
            Self::NodeCount(count) => count.fmt(f),
            Self::OpenMode(OpenMode::Append) => f.pad("append"),
            Self::OpenMode(OpenMode::Truncate) => f.pad("truncate"),
            Self::Qos(name) => name.fmt(f),
            Self::Queue(name) => name.fmt(f),
            Self::Reservation(name) => name.fmt(f),
            Self::ResizeSignal(signal) => signal.fmt(f),
            Self::Signal(warning) => warning.fmt(f),
            Self::Switches(_) => f.pad("1"),
            Self::TaskCount(count) => count.fmt(f),
            Self::Text(text) => f.pad(text),
            Self::Time(at) => at.fmt(f),
            Self::TimeLimit(TimeLimit(Some(limit))) => limit.fmt(f),
            Self::TimeLimit(TimeLimit(None)) => f.pad("UNLIMITED"),
        }
    }
}
