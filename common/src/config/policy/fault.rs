//! What can be wrong with a policy that reads, where it stands in the file, and what to do.
//! Never reads the file: the line is looked up by whoever has the text.

use super::topology_file::TopologyError;
use crate::config::ConfigError;
use crate::hostlist::HostlistError;
use crate::id::{AccountName, IdError, NodeName, QueueName, ZoneName};
use crate::time::SpanError;
use crate::unit::BytesError;
use std::fmt;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Where in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The table: `queue`, `qos`, `priority`, ...
    pub table: &'static str,
    /// Which of them, from 0; `None` for a table that stands once.
    pub number: Option<usize>,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The key; `None`: the table as a whole.
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

/// What is wrong. Each sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A table without a name.
    #[error("it has no name: add `name = \"...\"`")]
    NoName,
    /// Two of one name.
    #[error("there are two of this name: rename or remove one")]
    Twice,
    /// Two defaults.
    #[error("queue {0} says `default = true` too: only one can be the default")]
    TwoDefaults(QueueName),
    /// No default.
    #[error("no queue is the default: set `default = true` in one")]
    NoDefault,
    /// A parent that is no queue.
    #[error("there is no queue {parent}: add it, or name one of {known}")]
    UnknownParent {
        /// As written.
        parent: QueueName,
        /// The queues there are.
        known: String,
    },
    /// Queues above each other in a circle.
    #[error("the queues stand above each other in a circle, {0}: take the parent from one")]
    Cycle(String),
    /// Nodes that the queue above does not have.
    #[error("queue {parent} above it does not have {nodes}: add them there, or take them out here")]
    OutsideParent {
        /// The queue above.
        parent: QueueName,
        /// The nodes too many, as a host list.
        nodes: String,
    },
    /// Nobody of this name.
    #[error("there is no user `{0}` here: write a user's name or uid")]
    UnknownUser(String),
    /// No group of this name.
    #[error("there is no group `{0}` here: write a group's name or gid")]
    UnknownGroup(String),
    /// An account that is not listed where others are.
    #[error("there is no [[account]] {0}: add it, or take it out here")]
    UnknownAccount(AccountName),
    /// A zone without nodes.
    #[error("there is no zone {zone}: give it nodes in a [[zone]] table{known}")]
    UnknownZone {
        /// As written.
        zone: ZoneName,
        /// `, or name one of a, b`; empty where there is none.
        known: String,
    },
    /// The default is longer than the bound.
    #[error("time_limit_default is longer than time_limit_max: lower it, or raise the other")]
    DefaultOverMax,
    /// Borrowing bounded below the quota itself.
    #[error("{what} is below the quota: borrow_at_most counts the quota as well")]
    BorrowBelowQuota {
        /// `h100 = 4`.
        what: String,
    },
    /// An isolated queue borrows nothing.
    #[error("quota_mode is isolated, so it borrows nothing: remove one of the two")]
    IsolatedBorrows,
    /// Zero, where something is divided by it.
    #[error("it is 0: write 1 or more")]
    Zero,
    /// No span.
    #[error(transparent)]
    Span(#[from] SpanError),
    /// No amount of memory.
    #[error(transparent)]
    Bytes(#[from] BytesError),
    /// No host list.
    #[error(transparent)]
    Nodes(#[from] HostlistError),
    /// No name.
    #[error(transparent)]
    Name(#[from] IdError),
    /// A switch, domain or zone without nodes.
    #[error("it has no nodes: add `nodes = \"...\"`")]
    NoNodes,
    /// A node that is not there, where all that will ever be are known.
    #[error("there is no node {0}: correct the name, or take it out here")]
    UnknownNode(NodeName),
    /// A node in two places.
    #[error("node {node} stands in {first} already: take it out of one")]
    NodeTwice {
        /// The node.
        node: NodeName,
        /// Where it stands first.
        first: String,
    },
    /// One switch below two.
    #[error("{below} hangs on {first} and on {second}: a switch hangs on one")]
    TwoAbove {
        /// The lower switch.
        below: String,
        /// The upper one, as said first.
        first: String,
        /// As said here.
        second: String,
    },
}

/// A policy that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// In a table.
    #[error("{place}: {problem}")]
    Table {
        /// Where.
        place: Box<Place>,
        /// What.
        problem: Box<Problem>,
    },
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

    /// With the file and, from its text, the line.
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

/// The line on which a key stands, or else its table; `None` where the text has neither.
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
