//! Errors in a policy: the place in the configuration file, the problem, and what to do.

use super::topology_file::TopologyError;
use crate::config::ConfigError;
use crate::hostlist::HostlistError;
use crate::id::{AccountName, IdError, NodeName, QueueName, ZoneName};
use crate::time::SpanError;
use crate::unit::BytesError;
use std::fmt;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A place in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `queue`, `qos`, `priority`, ...
    pub table: &'static str,
    /// The position among tables of this name, from 0; `None` for a table that occurs once.
    pub number: Option<usize>,
    pub name: Option<String>,
    /// `None`: the table as a whole.
    pub key: Option<&'static str>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.number) {
            (Some(name), _) => write!(f, "[[{}]] {name}", self.table)?,
            (None, Some(number)) => write!(f, "[[{}]] number {}", self.table, number + 1)?,
            (None, None) => write!(f, "[{}]", self.table)?,
        }
        self.key.map_or(Ok(()), |key| write!(f, ", {key}"))
    }
}

/// A problem, with a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it has no name: add `name = \"...\"`")]
    NoName,
    #[error("another one has the same name: rename or remove one")]
    Twice,
    #[error("queue {0} has `default = true` too: only one queue can be the default")]
    TwoDefaults(QueueName),
    #[error("no queue is the default: set `default = true` in one")]
    NoDefault,
    #[error("there is no queue {parent}: add it, or name one of {known}")]
    UnknownParent { parent: QueueName, known: String },
    /// A cycle of parents.
    #[error("the parents of these queues form a cycle, {0}: remove the parent of one")]
    Cycle(String),
    /// Nodes that the parent queue does not have.
    #[error("its parent queue {parent} does not have {nodes}: add them there, or remove them here")]
    OutsideParent {
        parent: QueueName,
        /// A host list.
        nodes: String,
    },
    #[error("there is no user `{0}` here: write a user's name or uid")]
    UnknownUser(String),
    #[error("there is no group `{0}` here: write a group's name or gid")]
    UnknownGroup(String),
    /// An account that is missing in the list of accounts.
    #[error("there is no [[account]] {0}: add it, or remove it here")]
    UnknownAccount(AccountName),
    #[error("there is no zone {zone}: give it nodes in a [[zone]] table{known}")]
    UnknownZone {
        zone: ZoneName,
        /// `, or name one of a, b`; empty without any zone.
        known: String,
    },
    /// The default exceeds the maximum.
    #[error("time_limit_default is longer than time_limit_max: lower it, or raise the other")]
    DefaultOverMax,
    /// The maximum with borrowing is below the quota.
    #[error("{what} is below the quota: borrow_at_most includes the quota")]
    BorrowBelowQuota {
        /// `h100 = 4`.
        what: String,
    },
    #[error("an isolated queue cannot borrow: remove quota_mode = \"isolated\" or borrow_at_most")]
    IsolatedBorrows,
    /// A zero divisor.
    #[error("it is 0: write 1 or more")]
    Zero,
    #[error(transparent)]
    Span(#[from] SpanError),
    #[error(transparent)]
    Bytes(#[from] BytesError),
    #[error(transparent)]
    Nodes(#[from] HostlistError),
    #[error(transparent)]
    Name(#[from] IdError),
    #[error("it has no nodes: add `nodes = \"...\"`")]
    NoNodes,
    #[error("there is no node {0}: correct the name, or remove it here")]
    UnknownNode(NodeName),
    /// A node in two places.
    #[error("node {node} is already in {first}: remove it from one")]
    NodeTwice { node: NodeName, first: String },
    /// A switch with two parents.
    #[error("{below} is below {first} and below {second}: a switch has one parent")]
    TwoAbove {
        below: String,
        /// The parent in the first place.
        first: String,
        /// The parent in this place.
        second: String,
    },
}

/// An invalid policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("{place}: {problem}")]
    Table { place: Box<Place>, problem: Box<Problem> },
    /// In the topology file.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl PolicyError {
    /// A problem at a place.
    #[must_use]
    pub fn at(place: Place, problem: impl Into<Problem>) -> Self {
        Self::Table { place: Box::new(place), problem: Box::new(problem.into()) }
    }

    /// The error with the file's name and, looked up in its text, the line.
    #[must_use]
    pub fn in_file(&self, file: &str, text: &str) -> ConfigError {
        let line = match self {
            Self::Table { place, .. } => line(place, text),
            Self::Topology(_) => None,
        };
        let at = line.map(|line| format!("line {line}, ")).unwrap_or_default();
        ConfigError { file: file.to_owned(), message: format!("{at}{self}") }
    }
}

/// The line of the key, or else of its table; `None` if the text has neither.
fn line(place: &Place, text: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let value = document.get_ref().get(place.table)?;
    let (table, span) = match (place.number, value.get_ref()) {
        (None, DeValue::Table(table)) => (table, value.span()),
        (Some(number), DeValue::Array(tables)) => {
            let table = tables.get(number)?;
            (table.get_ref().as_table()?, table.span())
        }
        _ => return None,
    };
    let key_span = |key| table.get_key_value(key).map(|(key, _)| key.span());
    let Range { start, .. } = place.key.and_then(key_span).unwrap_or(span);
    Some(text.get(..start)?.matches('\n').count() + 1)
}
