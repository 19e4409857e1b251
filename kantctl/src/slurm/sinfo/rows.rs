//! The lines of sinfo: nodes that are equal in every field that is shown of a node or a partition,
//! each node once in a line, so that a format without a field of partitions counts none twice.
//! Source: man sinfo (--format, --exact).

use crate::slurm::format::Piece;
use crate::slurm::node_field::{Line, NodeField, Of};
use common::id::NodeName;
use common::node::{Contact, NodeStatus};
use common::queue::Queue;
use common::wire::api::NodeView;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// The nodes of a partition; without one, all that are asked for.
#[derive(Debug)]
pub struct Part<'a> {
    pub queue: Option<&'a Queue>,
    pub nodes: Vec<&'a NodeView>,
}

/// What a line's nodes have in common: values of fields of the partition, and of fields of nodes.
type Key = (Vec<String>, Vec<String>);

struct Group<'a> {
    /// The place of the first partition, and of the state among others.
    order: (usize, u8),
    queue: Option<&'a Queue>,
    nodes: BTreeMap<&'a NodeName, &'a NodeView>,
}

/// The lines; with `exact`, nodes of different sizes apart; with `empty`, also of partitions that
/// have no nodes and are shown in no other.
pub fn grouped<'a>(
    pieces: &[Piece<&'static NodeField>],
    parts: &[Part<'a>],
    zone: &'a TimeZone,
    (exact, empty): (bool, bool),
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
    for (place, Part { queue, nodes }) in parts.iter().enumerate() {
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

/// Where a state stands among others, as in Slurm's lists (`--sort=-t`, its default).
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
