//! Counts, time limits and lists of nodes, as options have them. `job::check` validates the request
//! as a whole.

use crate::hostlist::{self, HostlistError};
use crate::id::{IdError, NodeName, QueueName};
use crate::job::Launch;
use crate::job::check::COUNT_MAX;
use crate::time::{Span, SpanError};
use crate::unit::Tasks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("write a whole number from 1 to {COUNT_MAX}")]
    Count,
    #[error(
        "a job can wait in one queue only: name one. `--test-only` with each of them shows when \
         the job would start; `kantctl update JOB --queue=NAME` moves a waiting job"
    )]
    Queues,
    #[error(transparent)]
    Queue(#[from] IdError),
    #[error(
        "write a whole number from 1 to {COUNT_MAX}, or a range with the smaller one first (1-4)"
    )]
    Nodes,
    #[error(
        "write a whole number from 1 to {COUNT_MAX}, or a range with the smaller one first (2-8)"
    )]
    Tasks,
    #[error("write a number of GPUs (2), or a kind and a number (h100:2, h100|a100:2)")]
    Gpus,
    #[error("a job gets GPUs of one kind: give one (h100:2), or alternatives (h100|a100:2)")]
    GpuKinds,
    #[error(
        "a share of a GPU is between 0.001 and 0.999, with at most three decimals (0.5), or a part \
         of its memory (20G); of several GPUs: 2x0.5, 2x20G"
    )]
    GpuShare,
    #[error("a share of a GPU can only be requested for the whole job: --gpus=0.5")]
    GpuShareHere,
    #[error("only GPUs can be requested with it: write gpu:2 or gpu:h100:2")]
    Gres,
    #[error("write once, per-node or per-task")]
    Launch,
}

/// Reads a count from 1 to [`COUNT_MAX`].
///
/// # Errors
/// [`ValueError::Count`].
pub fn read_count(text: &str) -> Result<u32, ValueError> {
    let count = text.trim().parse().map_err(|_| ValueError::Count)?;
    if (1..=COUNT_MAX).contains(&count) { Ok(count) } else { Err(ValueError::Count) }
}

/// Reads a queue; a list of queues, which Slurm accepts, gets its own error.
///
/// # Errors
/// [`ValueError::Queues`], or an invalid name.
pub fn read_queue(text: &str) -> Result<QueueName, ValueError> {
    if text.contains(',') { Err(ValueError::Queues) } else { Ok(QueueName::new(text)?) }
}

/// A number of tasks, or a range of accepted numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCount {
    pub most: Tasks,
    /// The smallest accepted number, if it is a range.
    pub least: Option<Tasks>,
}

impl FromStr for TaskCount {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let count = |text: &str| read_count(text).map(Tasks).map_err(|_| ValueError::Tasks);
        match text.split_once('-') {
            None => Ok(Self { most: count(text)?, least: None }),
            Some((least, most)) => {
                let (least, most) = (count(least)?, count(most)?);
                if least > most {
                    return Err(ValueError::Tasks);
                }
                Ok(Self { most, least: Some(least).filter(|least| *least < most) })
            }
        }
    }
}

/// A number of nodes, or a range of accepted numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeCount {
    pub most: u32,
    /// The smallest accepted number, if it is a range.
    pub least: Option<u32>,
}

impl FromStr for NodeCount {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.parse() {
            Ok(TaskCount { most: Tasks(most), least }) => {
                Ok(Self { most, least: least.map(|least| least.0) })
            }
            Err(_) => Err(ValueError::Nodes),
        }
    }
}

impl fmt::Display for TaskCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least {
            Some(least) => write!(f, "{least}-{}", self.most),
            None => write!(f, "{}", self.most),
        }
    }
}

impl fmt::Display for NodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least {
            Some(least) => write!(f, "{least}-{}", self.most),
            None => write!(f, "{}", self.most),
        }
    }
}

/// A time limit; `None` for no limit, even if the queue has a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TimeLimit(pub Option<Span>);

impl FromStr for TimeLimit {
    type Err = SpanError;
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let none = ["UNLIMITED", "INFINITE", "-1"].iter().any(|w| w.eq_ignore_ascii_case(text));
        if none { Ok(Self(None)) } else { text.parse().map(|span| Self(Some(span))) }
    }
}

/// Reads `--launch`.
///
/// # Errors
/// [`ValueError::Launch`].
pub fn read_launch(text: &str) -> Result<Launch, ValueError> {
    match text {
        "once" => Ok(Launch::Once),
        "per-node" => Ok(Launch::PerNode),
        "per-task" => Ok(Launch::PerTask),
        _ => Err(ValueError::Launch),
    }
}

/// A list of nodes: `g[001-004],login`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hosts(pub Vec<NodeName>);

impl FromStr for Hosts {
    type Err = HostlistError;
    fn from_str(text: &str) -> Result<Self, HostlistError> {
        hostlist::expand(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_a_number_or_a_range() {
        let read = |text: &str| text.parse::<TaskCount>();
        let tasks =
            |most, least: Option<u32>| TaskCount { most: Tasks(most), least: least.map(Tasks) };
        assert_eq!(read("4"), Ok(tasks(4, None)));
        assert_eq!(read("2-8"), Ok(tasks(8, Some(2))));
        assert_eq!(read("8-8"), Ok(tasks(8, None)));
        for text in ["", "0", "-3", "8-2", "0-4", "2-", "2-x", "2-4-8", "1000001"] {
            assert_eq!(read(text), Err(ValueError::Tasks), "{text}");
        }
    }

    #[test]
    fn a_time_limit_may_be_none() {
        assert_eq!("unlimited".parse(), Ok(TimeLimit(None)));
        assert_eq!("2h".parse(), Ok(TimeLimit(Some(Span::from_minutes(120)))));
        assert!("soon".parse::<TimeLimit>().is_err());
    }

    #[test]
    fn nodes_are_a_number_or_a_range() {
        let read = |text: &str| text.parse::<NodeCount>();
        for (text, most, least) in [("2", 2, None), ("2-2", 2, None), ("1-4", 4, Some(1))] {
            assert_eq!(read(text), Ok(NodeCount { most, least }), "{text}");
        }
        assert_eq!(read("1-4").unwrap().to_string(), "1-4");
        for text in ["-3", "0", "x", "", "-", "1-", "4-1", "0-2", "1000001", "4294967296"] {
            assert_eq!(read(text), Err(ValueError::Nodes), "{text}");
        }
    }
}
