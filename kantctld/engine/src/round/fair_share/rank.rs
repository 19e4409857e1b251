//! The queues that take part in a pass, sorted among their siblings at each level of the tree.

use crate::model::shares::tree::{QueueAt, Tree};
use crate::policy::sharing::order::Rank;
use std::collections::BTreeSet;

/// The queues that take part, sorted among their siblings at each level of the tree.
#[derive(Debug)]
pub(super) struct Ranks {
    /// For the top and then for each queue: its children that take part.
    below: Vec<BTreeSet<(Rank, QueueAt)>>,
    ranks: Vec<Option<Rank>>,
    /// How often a queue was ranked.
    #[cfg(test)]
    pub set: usize,
}

impl Ranks {
    /// No queue takes part.
    pub fn none(tree: &Tree) -> Self {
        let queues = tree.terms.len();
        Self {
            below: vec![BTreeSet::new(); queues + 1],
            ranks: vec![None; queues],
            #[cfg(test)]
            set: 0,
        }
    }

    /// The sorted children of a queue; `None`: of the top.
    pub fn below(&self, at: Option<QueueAt>) -> &BTreeSet<(Rank, QueueAt)> {
        &self.below[at.map_or(0, |at| at.0 + 1)]
    }

    /// Sets a queue's rank; with `None` it no longer takes part.
    pub fn set(&mut self, tree: &Tree, at: QueueAt, rank: Option<Rank>) {
        #[cfg(test)]
        {
            self.set += 1;
        }
        if self.ranks[at.0] == rank {
            return;
        }
        let above = tree.path(at).get(1).map_or(0, |above| above.0 + 1);
        if let Some(known) = self.ranks[at.0].take() {
            self.below[above].remove(&(known, at));
        }
        if let Some(rank) = rank {
            self.below[above].insert((rank, at));
        }
        self.ranks[at.0] = rank;
    }
}
