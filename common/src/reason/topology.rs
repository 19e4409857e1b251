//! Sentences for jobs that wait for nodes close to each other in the network, or for nodes with few
//! jobs of their group.

use super::sentence::{level_text, plural};
use super::wait::WaitReason;
use std::fmt;

/// Writes the reasons about where nodes and other jobs are; writes nothing for other reasons.
pub(super) fn write_topology(reason: &WaitReason, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match reason {
        WaitReason::Topology { level, need, best, expected_at } => {
            write!(f, "needs {need} nodes under one {}", level_text(*level))?;
            match best {
                Some((switch, nodes)) => {
                    let nodes_free = plural(nodes.0);
                    write!(f, "; best is {switch} with {nodes} node{nodes_free} free")?;
                }
                None => write!(f, "; none has a free node")?,
            }
            expected_at.map_or(Ok(()), |at| write!(f, "; expected by {at}"))
        }
        WaitReason::NeverNear { level, need, best } => {
            let level = level_text(*level);
            write!(f, "needs {need} nodes under one {level}, which this cluster does not have")?;
            match best {
                Some((switch, nodes)) => {
                    write!(f, ": {switch} has {nodes} that could hold it, and no other has more")
                }
                None => write!(f, ": none has a node that could hold it"),
            }
        }
        WaitReason::GroupPerNode { group, most, nodes, expected_at } => {
            let (jobs, are) = (plural(*most), plural(nodes.0));
            write!(f, "at most {most} job{jobs} of group {group} may be on one node")?;
            write!(f, ", without which {nodes} node{are} would have room")?;
            expected_at.map_or(Ok(()), |at| write!(f, "; expected by {at}"))
        }
        _ => Ok(()),
    }
}
