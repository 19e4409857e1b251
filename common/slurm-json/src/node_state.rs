//! The state of a node in Slurm's words, and what it has.

use common::gpu::Gpu;
use common::node::{Contact, NodeStatus};
use common::wire::api::NodeView;
use std::collections::BTreeMap;

/// Slurm's name of a node's state, with a star for a node that does not respond.
#[must_use]
pub fn state_name(node: &NodeView, compact: bool) -> String {
    let word = match (node.status, compact) {
        (NodeStatus::Mixed, true) => "mix",
        (NodeStatus::Allocated, true) => "alloc",
        (NodeStatus::Draining, true) => "drng",
        (NodeStatus::Drained, true) => "drain",
        (status, _) => status.word(),
    };
    let star = if node.contact == Contact::Connected { "" } else { "*" };
    format!("{word}{star}")
}

/// `gpu:h100:8`, `(null)`.
#[must_use]
pub fn gres(gpus: &[Gpu]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    gpus.iter().for_each(|gpu| *kinds.entry(&gpu.kind.0).or_default() += 1);
    let shown: Vec<String> =
        kinds.iter().map(|(kind, count)| format!("gpu:{kind}:{count}")).collect();
    if shown.is_empty() { "(null)".to_owned() } else { shown.join(",") }
}

/// Why no job starts on the node; `none` for a node in service.
#[must_use]
pub fn unavailable_reason(node: &NodeView) -> String {
    match (&node.drain, node.contact) {
        (Some(drain), _) => drain.reason.clone(),
        (None, Contact::Connected) => "none".to_owned(),
        (None, Contact::Silent { .. } | Contact::Lost { .. }) => "Not responding".to_owned(),
    }
}

/// The features that jobs may request: `ib,rack7`.
#[must_use]
pub fn features(node: &NodeView) -> String {
    let features = &node.inventory.features;
    let names: Vec<&str> = features.iter().map(|feature| feature.as_str()).collect();
    if names.is_empty() { "(null)".to_owned() } else { names.join(",") }
}

/// The base state in lower case, and the flags that Slurm lists separately.
#[must_use]
pub fn state_and_flags(node: &NodeView) -> (String, Vec<&'static str>) {
    let mut flags = Vec::new();
    if node.drain.is_some() {
        flags.push("DRAIN");
    }
    if node.contact != Contact::Connected {
        flags.push("NOT_RESPONDING");
    }
    let bare = match node.status {
        NodeStatus::Drained => "idle".to_owned(),
        NodeStatus::Draining => "mixed".to_owned(),
        _ => state_name(node, false).trim_end_matches('*').to_owned(),
    };
    (bare, flags)
}
