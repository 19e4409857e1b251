//! Kinds of jobs that found no room in the last round. Such a job finds none in the next round
//! either, unless something is freed on a node that it may use. Resources kept for other jobs are
//! not considered; each round checks those again.

use super::Snapshot;
use crate::cluster::NodeIndex;
use crate::wait_queue::KindId;
use std::collections::BTreeSet;

/// Kinds of waiting jobs for which no nodes have room, even without what is kept for others. All
/// values compare as equal, so that rounds with equal decisions are equal.
#[derive(Debug, Clone, Eq, Default)]
pub struct Full(pub(crate) BTreeSet<KindId>);

impl PartialEq for Full {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Snapshot {
    /// Sets what the last round found full. Call this after all decisions of that round are in the
    /// snapshot, and before any other change. Without it, each round searches for itself.
    pub fn set_full(&mut self, full: Full) {
        self.full = full;
        self.came_free.clear();
    }

    /// Skips the reasons why jobs wait, unless the next round needs them.
    pub fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
    }

    /// Notes that resources were freed on this node.
    pub(super) fn comes_free(&mut self, at: NodeIndex) {
        self.freed.add(at);
        if !self.full.0.is_empty() {
            self.came_free.insert(at);
        }
    }

    /// Forgets what was full: there may be room now.
    pub(super) fn forget_full(&mut self) {
        self.full = Full::default();
        self.came_free.clear();
    }
}
