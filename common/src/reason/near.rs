//! Why a job waits for nodes near enough to each other, in a sentence. Never says when it starts
//! but where the engine promised that.

use super::sentence::{level_text, plural};
use super::wait::WaitReason;
use std::fmt;

/// Of what is about nearness; nothing of other reasons.
pub(super) fn show(reason: &WaitReason, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match reason {
        WaitReason::Topology { level, need, best, expected_at } => {
            write!(f, "needs {need} nodes under one {}", level_text(*level))?;
            match best {
                Some((switch, nodes)) => {
                    let nodes_free = plural(nodes.0);
                    write!(f, "; best is {switch} with {nodes} node{nodes_free} free")?;
                }
                None => write!(f, "; none has any free")?,
            }
            expected_at.map_or(Ok(()), |at| write!(f, "; expected by {at}"))
        }
        WaitReason::NeverNear { level, need, best } => {
            let level = level_text(*level);
            write!(f, "needs {need} nodes under one {level}, which this cluster does not have")?;
            match best {
                Some((switch, nodes)) => {
                    write!(f, ": {switch} has {nodes} that could hold it, and no other more")
                }
                None => write!(f, ": none has any that could hold it"),
            }
        }
        _ => Ok(()),
    }
}
