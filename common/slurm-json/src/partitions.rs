//! The partitions of Slurm's listings: the leaf queues and their nodes.

use common::policy::queue::Queue;
use common::wire::api::{NodeView, QueueList};

/// The leaf queues: only they have jobs.
pub fn partitions(list: &QueueList) -> impl Iterator<Item = &Queue> {
    let has_children =
        |queue: &Queue| list.queues.iter().any(|other| other.parent.as_ref() == Some(&queue.name));
    list.queues.iter().filter(move |queue| !has_children(queue))
}

/// Whether the node belongs to the queue. A queue that names no nodes has all.
#[must_use]
pub fn has_node(queue: &Queue, node: &NodeView) -> bool {
    queue.nodes.is_empty() || queue.nodes.contains(&node.name)
}
