//! The lines of sinfo. Nodes share a line if all shown node and partition fields are equal. A node
//! is in a line once, so a format without partition fields does not count it twice.
//! Source: man sinfo (--format, --exact).

use crate::format::Piece;
use crate::node_field::{Line, NodeField, Of};
use common::id::NodeName;
use common::node::{Contact, NodeStatus};
use common::policy::queue::Queue;
use common::wire::api::NodeView;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// The nodes of a partition; without a partition, all selected nodes.
#[derive(Debug)]
pub struct PartitionNodes<'a> {
    pub queue: Option<&'a Queue>,
    pub nodes: Vec<&'a NodeView>,
}

/// The values that the nodes of a line share: of partition fields, and of node fields.
type Key = (Vec<String>, Vec<String>);

struct Group<'a> {
    /// The position of the first partition, and the rank of the state.
    order: (usize, u8),
    queue: Option<&'a Queue>,
    nodes: BTreeMap<&'a NodeName, &'a NodeView>,
}

/// The lines. With `exact`, nodes of different sizes are on separate lines. With `empty`,
/// partitions without nodes that are not in another line have one too.
pub fn grouped<'a>(
    pieces: &[Piece<&'static NodeField>],
    parts: &[PartitionNodes<'a>],
    zone: &'a TimeZone,
    exact: bool,
    empty: bool,
) -> Vec<Line<'a>> {
    let fields = |is_asked: &dyn Fn(Of) -> bool| -> Vec<&NodeField> {
        let cells = pieces.iter().filter_map(|piece| match piece {
            Piece::Cell(cell) => Some(cell.field),
            Piece::Text(_) => None,
        });
        cells.filter(|field| is_asked(field.of)).collect()
    };
    let of_nodes = fields(&|of| of == Of::Node || exact && of == Of::Size);
    let of_parts = fields(&|of| of == Of::Partition);
    let shown = |fields: &[&NodeField], line: &Line<'_>| -> Vec<String> {
        fields.iter().map(|field| (field.value)(line)).collect()
    };
    let mut groups: BTreeMap<Key, Group<'a>> = BTreeMap::new();
    for (place, PartitionNodes { queue, nodes }) in parts.iter().enumerate() {
        let queue = *queue;
        let of_part = shown(&of_parts, &Line { queue, nodes: Vec::new(), zone });
        for node in nodes {
            let alone = Line { queue, nodes: vec![*node], zone };
            let key = (of_part.clone(), shown(&of_nodes, &alone));
            let order = (place, rank(node));
            let group =
                groups.entry(key).or_insert_with(|| Group { order, queue, nodes: BTreeMap::new() });
            group.nodes.insert(&node.name, *node);
        }
    }
    for (place, part) in parts.iter().enumerate().filter(|(_, part)| empty && part.nodes.is_empty())
    {
        let none = Line { queue: part.queue, nodes: Vec::new(), zone };
        let (of_part, of_node) = (shown(&of_parts, &none), shown(&of_nodes, &none));
        if !groups.keys().any(|(known, _)| *known == of_part) {
            let group = Group { order: (place, 0), queue: part.queue, nodes: BTreeMap::new() };
            groups.insert((of_part, of_node), group);
        }
    }
    let mut groups: Vec<Group<'a>> = groups.into_values().collect();
    groups.sort_by_key(|group| group.order);
    let line = |group: Group<'a>| {
        let nodes = group.nodes.into_values().collect();
        Line { queue: group.queue, nodes, zone }
    };
    groups.into_iter().map(line).collect()
}

/// The rank of a node's state in Slurm's default order (`--sort=-t`).
fn rank(node: &NodeView) -> u8 {
    match node.status {
        _ if node.contact != Contact::Connected => 0,
        NodeStatus::Draining | NodeStatus::Drained => 1,
        NodeStatus::Mixed => 2,
        NodeStatus::Allocated => 3,
        NodeStatus::Idle => 4,
        NodeStatus::Down => 5,
    }
}
