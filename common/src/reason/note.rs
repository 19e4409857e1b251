//! Notes that the controller makes: why it ended a job, and why it drained a node. They are stored
//! as text, beside the notes of nodes and operators.

use crate::health::Finding;
use crate::hostlist;
use crate::id::NodeName;
use crate::job::{Outcome, SetPlace};
use crate::time::{Span, Time};

/// Why the controller ended a job, or drained a node.
#[derive(Debug, thiserror::Error)]
pub enum Note<'a> {
    #[error("it was not over by its deadline {deadline}")]
    DeadlineOver { deadline: Time },
    #[error("its client was not heard of for {lease}")]
    LeaseOver { lease: Span },
    #[error("node {node} was lost")]
    NodeLost { node: &'a NodeName },
    #[error("node {node} was replaced by another machine")]
    NodeReplaced { node: &'a NodeName },
    #[error("node {node} came back without it")]
    NotOnNode { node: &'a NodeName },
    #[error("node {node} is no longer fit to run it: {}", .finding.says)]
    NodeUnfit { node: &'a NodeName, finding: &'a Finding },
    #[error("did not begin to run within {most} on {}", hostlist::compress(.nodes.iter()))]
    StartOverdue { most: Span, nodes: &'a [NodeName] },
    #[error("component {} ended, and this one with it: {outcome}", .ended.name())]
    ComponentEnded { ended: SetPlace, outcome: Outcome },

    #[error("{}: {}", .finding.check.word(), .finding.says)]
    Health { finding: &'a Finding },
    #[error(
        "{}: {}; {times} times within a day, so it stays drained until `kantctl resume`",
        .finding.check.word(), .finding.says
    )]
    Flapping { finding: &'a Finding, times: usize },
    #[error(
        "{in_a_row} starts in a row failed here by a fault of the node: {}",
        .why.unwrap_or("it did not say why")
    )]
    FailedStarts { in_a_row: u32, why: Option<&'a str> },
}
