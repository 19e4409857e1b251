//! Power cuts of emulated nodes, as given on the command line: `NODES=AFTER` or `NODES=AFTER+FOR`.

use common::hostlist::{self, HostlistError};
use common::id::NodeName;
use common::time::{Span, SpanError};
use std::str::FromStr;
use std::time::Duration;

/// A power cut: the nodes become silent, and everything on them is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCut {
    pub nodes: Vec<NodeName>,
    /// Time of the cut, from the emulator's start.
    pub after: Duration,
    /// Time until the nodes boot again; `None` if they do not.
    pub back_after: Option<Duration>,
}

/// An invalid power cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PowerCutError {
    #[error(
        "`{0}` is not a power cut: write NODES=AFTER or NODES=AFTER+FOR, like em[01-05]=30s+1m"
    )]
    Shape(String),
    #[error(transparent)]
    Nodes(#[from] HostlistError),
    #[error(transparent)]
    Span(#[from] SpanError),
}

impl FromStr for PowerCut {
    type Err = PowerCutError;
    fn from_str(text: &str) -> Result<Self, PowerCutError> {
        let shape = || PowerCutError::Shape(text.to_owned());
        let (nodes, when) = text.split_once('=').ok_or_else(shape)?;
        let span = |text: &str| -> Result<Duration, PowerCutError> {
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
    fn a_power_cut_names_nodes_a_time_and_perhaps_a_return() {
        let power_cut: PowerCut = "em[1-2]=30s+1m".parse().unwrap();
        let names: Vec<&str> = power_cut.nodes.iter().map(NodeName::as_str).collect();
        assert_eq!(names, ["em1", "em2"]);
        assert_eq!(power_cut.after, Duration::from_secs(30));
        assert_eq!(power_cut.back_after, Some(Duration::from_secs(60)));
        assert_eq!("em1=1h".parse::<PowerCut>().unwrap().back_after, None);
        for text in ["em1", "em1=", "=30s", "em1=30s+", "em[=1s"] {
            assert!(text.parse::<PowerCut>().is_err(), "{text}");
        }
    }
}
