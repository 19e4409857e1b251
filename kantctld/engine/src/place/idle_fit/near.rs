//! Whether nodes near enough to each other exist that could hold a job together, up or down.

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::class::{Class, ClassKey};
use crate::model::cluster::switches::SwitchIndex;
use crate::model::shape::Shape;
use common::reason::WaitReason;
use common::topology::Level;
use common::unit::Nodes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The level at which all nodes of a shape must share one switch, and their number. `None`: they
/// need not.
pub(crate) fn one_switch_of(cluster: &ClusterIndex, shape: &Shape<'_>) -> Option<(Level, Nodes)> {
    let request = shape.demand.request;
    let near = request.near.filter(|near| near.required && request.segment.is_none())?;
    let nodes = shape.node_count().filter(|nodes| nodes.0 > 1)?;
    (cluster.switches().count(near.level) > 0).then_some((near.level, nodes))
}

/// Whether nodes under one switch could hold the shape, if it requires that and all were up and
/// idle. If the network is not described, nothing is refused.
///
/// # Errors
/// [`WaitReason::NeverNear`], in numbers.
pub(crate) fn could_be_near(cluster: &ClusterIndex, shape: &Shape<'_>) -> Result<(), WaitReason> {
    let shape = shape.with_fewest_tasks();
    let Some((level, nodes)) = one_switch_of(cluster, &shape) else { return Ok(()) };
    let switches = cluster.switches();
    let mut under: BTreeMap<SwitchIndex, BTreeMap<ClassKey, (Arc<Class>, u32)>> = BTreeMap::new();
    for (at, node) in cluster.nodes().filter(|(at, _)| shape.may_ever_use(cluster, *at)) {
        if let Some(switch) = switches.switch_of_node(level, at) {
            let sizes = under.entry(switch).or_default();
            sizes.entry(node.class.key()).or_insert_with(|| (node.class.clone(), 0)).1 += 1;
        }
    }
    let last = shape.demand.even_part(nodes, nodes.0.saturating_sub(1));
    let mut best: Option<(SwitchIndex, u32)> = None;
    for (switch, sizes) in under {
        let sizes: Vec<_> = sizes.into_values().collect();
        if shape.could_hold(&sizes, nodes) {
            return Ok(());
        }
        let able = sizes.iter().filter(|(class, _)| shape.fits_idle(class, last));
        let able: u32 = able.map(|(_, nodes)| nodes).sum();
        if able > 0 && best.is_none_or(|(_, most)| able > most) {
            best = Some((switch, able));
        }
    }
    let best = best.and_then(|(at, able)| Some((switches.name(level, at)?.clone(), Nodes(able))));
    Err(WaitReason::NeverNear { level, need: nodes, best })
}
