//! What the snapshot derives from nodes and policy.

use super::Snapshot;
use crate::model::shares::tree::Tree;
use crate::model::shares::tree_of;
use crate::model::usage_accounting::UsageAccounting;
use std::sync::Arc;

impl Snapshot {
    /// Builds the tree of queues again, after nodes or the policy changed.
    pub(crate) fn rebuild_queue_tree(&mut self) {
        let is_fair = self.policy.fair_sharing;
        self.queues = if is_fair { tree_of(&self.policy, &self.cluster) } else { Tree::default() };
    }

    /// Computes the yardsticks of typical jobs again, after nodes changed.
    pub(crate) fn recompute_yardsticks(&mut self) {
        let typical = self.typical.take();
        self.typical = typical.map(|typical| Arc::new(typical.recomputed(&self.cluster)));
    }

    /// The usage accounting as if nothing ran.
    pub(crate) fn empty_usage_accounting(&self) -> UsageAccounting {
        UsageAccounting::new(&self.policy, &self.capacity)
    }
}
