//! Try, and undo: what is free while a round works, with checkpoints. Never decides what to try.
//!
//! A gang takes its shares one by one; a shadow asks "and if these jobs ended?". Both set a
//! checkpoint first, and keep or roll back afterwards.

use crate::cluster::{Cluster, NodeIndex};
use crate::free::{Free, View};
use crate::snapshot::Snapshot;
use common::resource::Share;

/// What is free, and how to go back.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    free: Vec<Free>,
    /// What each changed node was before, oldest first.
    undo: Vec<(NodeIndex, Free)>,
}

/// A point to go back to. Checkpoints nest: the last one set is the first one settled.
#[derive(Debug)]
#[must_use = "a checkpoint is kept or rolled back"]
pub(crate) struct Checkpoint(usize);

impl Trial {
    /// Begins with what the snapshot says is free.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { free: snapshot.nodes.iter().map(Free::of).collect(), undo: Vec::new() }
    }

    /// What is free now.
    pub fn view(&self) -> View<'_> {
        View::plain(&self.free)
    }

    /// Gives a share of a node away.
    pub fn take(&mut self, cluster: &Cluster<'_>, node: NodeIndex, share: &Share) {
        self.undo.push((node, self.free[node.0].clone()));
        self.free[node.0].take(cluster.node(node).inventory, share);
    }

    /// Takes a share of a node back.
    pub fn give_back(&mut self, cluster: &Cluster<'_>, node: NodeIndex, share: &Share) {
        self.undo.push((node, self.free[node.0].clone()));
        self.free[node.0].give_back(cluster.node(node).inventory, share);
    }

    /// Marks a point to go back to.
    pub const fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.undo.len())
    }

    /// Undoes everything since the checkpoint.
    pub fn roll_back(&mut self, checkpoint: Checkpoint) {
        while self.undo.len() > checkpoint.0 {
            if let Some((node, before)) = self.undo.pop() {
                self.free[node.0] = before;
            }
        }
    }

    /// Lets what was done since the checkpoint stand. An outer checkpoint can still undo it.
    pub fn keep(&mut self, checkpoint: Checkpoint) {
        debug_assert!(self.undo.len() >= checkpoint.0, "settled out of order");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, share, snapshot};

    #[test]
    fn a_rollback_undoes_exactly_what_came_after_its_checkpoint() {
        let snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let cluster = Cluster::of(&snapshot);
        let mut trial = Trial::of(&snapshot);
        let outer = trial.checkpoint();
        trial.take(&cluster, NodeIndex(0), &share("a", "0-1"));
        let before = trial.free.clone();

        let inner = trial.checkpoint();
        trial.take(&cluster, NodeIndex(0), &share("a", "2"));
        trial.give_back(&cluster, NodeIndex(0), &share("a", "0-1"));
        trial.take(&cluster, NodeIndex(1), &share("b", "0-3"));
        assert_eq!(trial.view().on(NodeIndex(1)).core_cpus.0, 0);
        trial.roll_back(inner);
        assert_eq!(trial.free, before);

        let inner = trial.checkpoint();
        trial.take(&cluster, NodeIndex(1), &share("b", "0"));
        trial.keep(inner);
        trial.roll_back(outer);
        assert_eq!(trial.free, Trial::of(&snapshot).free);
    }
}
