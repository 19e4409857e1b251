//! Kinds of jobs that found no room, each with the few nodes that have some. A later round looks at
//! these nodes and at those freed since, not at all nodes. Resources kept for other jobs are not
//! considered here; each round checks those again.

use super::Snapshot;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::tally::Takes;
use crate::model::wait_queue::KindId;
use std::collections::BTreeMap;

/// A kind that found more nodes with room than this is searched for again by each round.
pub(crate) const CANDIDATES_MAX: usize = 512;

/// When this many more nodes were freed than there are, the log starts again.
const LOG_SPARE: usize = 65_536;

/// The nodes that one kind of jobs has to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// The number of nodes on which a job of this kind runs.
    pub needs: usize,
    /// A lower bound of what it takes on each.
    pub least: Takes,
    /// All nodes that held one node's part of it, ascending.
    pub nodes: Vec<NodeIndex>,
    /// How long the log of freed nodes was then.
    pub since: usize,
}

/// The kinds for which a round found too few nodes. All values compare as equal, so that rounds
/// with equal decisions are equal.
#[derive(Debug, Clone, Eq, Default)]
pub struct Full(pub(crate) BTreeMap<KindId, Candidates>);

impl PartialEq for Full {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What rounds found full, and where resources were freed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct Remembered {
    kinds: BTreeMap<KindId, Candidates>,
    freed: Vec<NodeIndex>,
}

impl Remembered {
    /// What is known of a kind.
    pub fn of(&self, kind: KindId) -> Option<&Candidates> {
        self.kinds.get(&kind)
    }

    /// The nodes on which resources were freed since then. A node may be listed more than once.
    pub fn freed_since(&self, since: usize) -> &[NodeIndex] {
        self.freed.get(since..).unwrap_or_default()
    }

    pub const fn log_len(&self) -> usize {
        self.freed.len()
    }
}

impl Snapshot {
    /// Adds what the last round found full. Call this after all decisions of that round are in the
    /// snapshot, and before any other change. Without it, each round searches for itself.
    pub fn set_full(&mut self, full: Full) {
        self.full.kinds.extend(full.0);
        if self.full.kinds.len() > 2 * self.wait_queue.kinds_len() + CANDIDATES_MAX {
            let queue = &self.wait_queue;
            self.full.kinds.retain(|kind, _| queue.kind_of(*kind).is_some());
        }
        if self.full.freed.len() > self.cluster.len() + LOG_SPARE {
            self.forget_full();
        }
    }

    /// Skips the reasons why jobs wait, unless the next round needs them.
    pub fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
    }

    /// Notes that resources were freed on this node.
    pub(super) fn comes_free(&mut self, at: NodeIndex) {
        self.freed.add(at);
        if !self.full.kinds.is_empty() {
            self.full.freed.push(at);
        }
    }

    /// Forgets what was full: there may be room now.
    pub(super) fn forget_full(&mut self) {
        self.full = Remembered::default();
    }
}
