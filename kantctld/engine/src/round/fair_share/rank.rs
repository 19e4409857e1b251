//! The queues that take part in a pass, sorted among their siblings at each level of the tree.

use crate::model::shares::tree::{QueueAt, Tree};
use crate::policy::sharing::order::Rank;
/// The queues that take part, sorted among their siblings at each level of the tree.
#[derive(Debug)]
pub(super) struct Ranks {
    /// For the top and then for each queue: its children that take part.
    below: Vec<Vec<QueueAt>>,
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
            below: vec![Vec::new(); queues + 1],
            ranks: vec![None; queues],
            #[cfg(test)]
            set: 0,
        }
    }

    /// The first child of a queue; `None`: of the top.
    pub fn first_below(&self, at: Option<QueueAt>) -> Option<QueueAt> {
        self.below[at.map_or(0, |at| at.0 + 1)].first().copied()
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
        if self.ranks[at.0].is_some()
            && let Ok(place) = self.place_of(above, at)
        {
            self.below[above].remove(place);
        }
        self.ranks[at.0] = rank;
        if rank.is_some()
            && let Err(place) = self.place_of(above, at)
        {
            self.below[above].insert(place, at);
        }
    }

    /// The place of a queue in its family: where it is, or would be.
    fn place_of(&self, family: usize, at: QueueAt) -> Result<usize, usize> {
        let key = |one: &QueueAt| (self.ranks[one.0], *one);
        self.below[family].binary_search_by_key(&key(&at), key)
    }
}
