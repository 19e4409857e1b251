//! The nodes of a run: those that it holds, those that it keeps, and those that it gives up.

use super::{Run, SharePhase};
use common::id::NodeName;
use common::resource::Allocation;
use std::sync::Arc;

impl Run {
    /// The allocation without leaving nodes.
    #[must_use]
    pub fn staying(&self) -> Arc<Allocation> {
        if !self.shares.contains(&SharePhase::Leaving) {
            return self.allocation.clone();
        }
        let shares = self.allocation.shares().iter().zip(&self.shares);
        let stays = shares.filter(|(_, phase)| **phase != SharePhase::Leaving);
        let stays = Allocation::new(stays.map(|(share, _)| share.clone()).collect());
        stays.map_or_else(|_| self.allocation.clone(), Arc::new)
    }

    /// The leaving nodes that have not released it yet, in rank order.
    pub fn leaving(&self) -> impl Iterator<Item = &NodeName> + '_ {
        let shares = self.allocation.shares().iter().zip(&self.shares);
        shares.filter(|(_, phase)| **phase == SharePhase::Leaving).map(|(share, _)| &share.node)
    }

    /// The nodes that have not released it yet, in rank order.
    #[must_use]
    pub fn holding_nodes(&self) -> Vec<NodeName> {
        let shares = self.allocation.shares().iter().zip(&self.shares);
        shares.filter(|(_, phase)| !phase.is_over()).map(|(s, _)| s.node.clone()).collect()
    }

    /// Removes a share that has ended and that the job does not need. The only share is never
    /// removed.
    pub(crate) fn drop_share(&mut self, rank: usize) {
        let mut left = self.allocation.shares().to_vec();
        if rank >= left.len() || rank >= self.shares.len() {
            return;
        }
        let first = left.len().saturating_sub(self.grown.len());
        let gone = left.remove(rank);
        if let Ok(left) = Allocation::new(left) {
            self.allocation = Arc::new(left);
            self.shares.remove(rank);
            self.had.insert(gone.node);
            if rank >= first {
                self.grown.remove(rank - first);
            }
        }
        if !self.shares.contains(&SharePhase::Leaving) {
            self.gives_to = None;
        }
    }
}
