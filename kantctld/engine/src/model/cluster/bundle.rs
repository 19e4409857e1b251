//! Bundles of groups of one pool, with the sums of what is free in them. If a bundle's sums rule
//! out a fit, none of its groups is examined. This matters in a cluster of many kinds of nodes,
//! where each group has few. A bundle has at most [`GROUPS_MAX`] groups, so that its sums are cheap
//! to update when a node changes.

use crate::model::cluster::class::Class;
use crate::model::cluster::group::{Group, GroupIndex};
use crate::model::cluster::node::Node;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most groups of a bundle.
const GROUPS_MAX: usize = 32;

/// A bundle's position among the bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BundleIndex(pub u32);

/// Groups of the same GPU pool.
#[derive(Debug, Clone)]
pub(crate) struct Bundle {
    pub groups: Vec<GroupIndex>,
    /// The class of one of its nodes. All of its nodes have the same kinds of GPUs.
    pub class: Arc<Class>,
}

/// Puts groups into bundles, and sets the bundle of each group.
pub(crate) fn bundles(nodes: &[Node], groups: &mut [Group]) -> Vec<Bundle> {
    let mut open: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut bundles: Vec<Bundle> = Vec::new();
    for (at, group) in (0..).map(GroupIndex).zip(groups) {
        let Some(first) = group.nodes.first() else { continue };
        let class = &nodes[first.at()].class;
        let pool = class.kinds().iter().map(|(kind, _)| kind.0.as_str()).collect();
        let bundle = open.entry(pool).or_insert(usize::MAX);
        if bundles.get(*bundle).is_none_or(|bundle| bundle.groups.len() >= GROUPS_MAX) {
            *bundle = bundles.len();
            bundles.push(Bundle { groups: Vec::new(), class: class.clone() });
        }
        group.bundle = BundleIndex(u32::try_from(*bundle).unwrap_or(u32::MAX));
        bundles[*bundle].groups.push(at);
    }
    bundles
}
