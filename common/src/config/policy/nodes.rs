//! The nodes of each queue: its own, a subset of its parent's, or else the parent's. Expects a tree
//! that `tree` has checked.

use super::error::{PolicyError, Problem};
use super::tree::queue_place;
use crate::hostlist;
use crate::id::NodeName;
use crate::policy::queue::Queue;
use std::collections::BTreeSet;

/// Fills in the nodes of queues that name none.
pub(super) fn inherit(queues: &mut [Queue]) -> Result<(), PolicyError> {
    let own: Vec<Queue> = queues.to_vec();
    for (number, queue) in queues.iter_mut().enumerate() {
        let Some(above) = nearest_with_nodes(&own, queue) else { continue };
        if queue.nodes.is_empty() {
            queue.nodes.clone_from(&above.nodes);
            continue;
        }
        let allowed: BTreeSet<&NodeName> = above.nodes.iter().collect();
        let outside: Vec<&NodeName> = queue.nodes.iter().filter(|n| !allowed.contains(n)).collect();
        if !outside.is_empty() {
            let (parent, nodes) = (above.name.clone(), hostlist::compress(outside));
            let place = queue_place(number, &queue.name, Some("nodes"));
            return Err(PolicyError::at(place, Problem::OutsideParent { parent, nodes }));
        }
    }
    Ok(())
}

/// The nearest ancestor that names nodes.
fn nearest_with_nodes<'a>(queues: &'a [Queue], queue: &Queue) -> Option<&'a Queue> {
    let mut above = queue.parent.as_ref();
    // No path is longer than the number of queues.
    for _ in queues {
        let parent = queues.iter().find(|other| Some(&other.name) == above)?;
        if !parent.nodes.is_empty() {
            return Some(parent);
        }
        above = parent.parent.as_ref();
    }
    None
}
