//! What befalls emulated nodes, as the command line says it: `NODES=AFTER` or `NODES=AFTER+FOR`.
//! Never befalls a node that is not named.

use common::hostlist::{self, HostlistError};
use common::id::NodeName;
use common::time::{Span, SpanError};
use std::str::FromStr;
use std::time::Duration;

/// A power cut: the nodes fall silent, and nothing that ran there is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub nodes: Vec<NodeName>,
    /// When, from the emulator's start.
    pub after: Duration,
    /// They boot again so long after it; `None`: never.
    pub back_after: Option<Duration>,
}

/// A text that is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// Not of the right shape.
    #[error("`{0}` is no fault: write NODES=AFTER or NODES=AFTER+FOR, like em[01-05]=30s+1m")]
    Shape(String),
    #[error(transparent)]
    Nodes(#[from] HostlistError),
    /// No length of time.
    #[error(transparent)]
    Span(#[from] SpanError),
}

impl FromStr for Fault {
    type Err = FaultError;
    fn from_str(text: &str) -> Result<Self, FaultError> {
        let shape = || FaultError::Shape(text.to_owned());
        let (nodes, when) = text.split_once('=').ok_or_else(shape)?;
        let span = |text: &str| -> Result<Duration, FaultError> {
            Ok(Duration::from_millis(text.parse::<Span>()?.0))
        };
        let (after, back_after) = match when.split_once('+') {
            Some((after, back_after)) => (span(after)?, Some(span(back_after)?)),
            None => (span(when)?, None),
        };
        Ok(Self { nodes: hostlist::expand(nodes)?, after, back_after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_nodes_a_time_and_perhaps_a_return() {
        let fault: Fault = "em[1-2]=30s+1m".parse().unwrap();
        let names: Vec<&str> = fault.nodes.iter().map(NodeName::as_str).collect();
        assert_eq!(names, ["em1", "em2"]);
        assert_eq!(fault.after, Duration::from_secs(30));
        assert_eq!(fault.back_after, Some(Duration::from_secs(60)));
        assert_eq!("em1=1h".parse::<Fault>().unwrap().back_after, None);
        for text in ["em1", "em1=", "=30s", "em1=30s+", "em[=1s"] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }
}
