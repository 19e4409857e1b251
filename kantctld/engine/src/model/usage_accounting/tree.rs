//! The tree of queues, by number: a bound of a queue holds for all queues below it.
//!
//! Source: KAI Scheduler, "Scheduling Queues": a tree of any depth, checked up to the top; man
//! slurm.conf has one level, partitions.
//! Reads: the names and parents of queues. Never: their jobs. Knobs: `parent` of a queue.
//!
//! The configuration refuses unknown parents and cycles. Should a queue have one all the same, it
//! is a top-level queue here, so that every walk upwards ends.
//!
//! Example, two nodes. Queue `lab` is top-level, `lab-dev` and `lab-run` are below it. Job 1 runs
//! in `lab-dev`, job 2 in `lab-run`, job 3 in `lab`: the bounds of `lab` count all three, those of
//! `lab-dev` only job 1. The lowest common ancestor of jobs 1 and 2 is `lab`.

use common::id::QueueName;
use common::policy::Policy;
use std::collections::BTreeMap;

/// The index of a queue in the sorted names of all queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueIndex(pub usize);

/// All queues of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    names: Vec<QueueName>,
    /// For each queue: the queue, its parent, and so on to the top.
    paths: Vec<Vec<QueueIndex>>,
}

impl Tree {
    /// The tree of these queues. Of two with the same name the first counts.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let mut above: BTreeMap<&QueueName, Option<&QueueName>> = BTreeMap::new();
        for queue in &policy.queues {
            above.entry(&queue.name).or_insert(queue.parent.as_ref());
        }
        let names: Vec<QueueName> = above.keys().map(|name| (*name).clone()).collect();
        let index = |name: &QueueName| names.binary_search(name).ok().map(QueueIndex);
        let parents: Vec<Option<QueueIndex>> =
            above.values().map(|parent| parent.and_then(index)).collect();
        let paths = (0..names.len()).map(|at| path(&parents, QueueIndex(at))).collect();
        Self { names, paths }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All queues, ascending by name.
    pub fn indices(&self) -> impl Iterator<Item = QueueIndex> + use<> {
        (0..self.names.len()).map(QueueIndex)
    }

    #[must_use]
    pub fn index(&self, name: &QueueName) -> Option<QueueIndex> {
        self.names.binary_search(name).ok().map(QueueIndex)
    }

    #[must_use]
    pub fn name(&self, queue: QueueIndex) -> &QueueName {
        &self.names[queue.0]
    }

    /// The queue, its parent, and so on to the top.
    #[must_use]
    pub fn path(&self, queue: QueueIndex) -> &[QueueIndex] {
        &self.paths[queue.0]
    }

    /// The parent; `None`: it is a top-level queue.
    #[must_use]
    pub fn parent(&self, queue: QueueIndex) -> Option<QueueIndex> {
        self.path(queue).get(1).copied()
    }

    /// The number of ancestors.
    #[must_use]
    pub fn depth(&self, queue: QueueIndex) -> usize {
        self.path(queue).len() - 1
    }

    /// The parts of both paths below the lowest common ancestor.
    #[must_use]
    pub fn paths_below_common_ancestor(
        &self,
        a: QueueIndex,
        b: QueueIndex,
    ) -> (&[QueueIndex], &[QueueIndex]) {
        let (a, b) = (self.path(a), self.path(b));
        let both = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        (&a[..a.len() - both], &b[..b.len() - both])
    }
}

/// The path from a queue to the top. Every queue of a cycle is a top-level queue, so queues below a
/// cycle end in it.
fn path(parents: &[Option<QueueIndex>], queue: QueueIndex) -> Vec<QueueIndex> {
    let mut path = vec![queue];
    let mut at = queue;
    while let Some(parent) = parents[at.0].filter(|_| !is_in_cycle(parents, at)) {
        path.push(parent);
        at = parent;
    }
    path
}

fn is_in_cycle(parents: &[Option<QueueIndex>], queue: QueueIndex) -> bool {
    let mut at = queue;
    for _ in 0..parents.len() {
        match parents[at.0] {
            None => return false,
            Some(parent) if parent == queue => return true,
            Some(parent) => at = parent,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::policy::queue::Queue;

    fn tree(queues: &[(&str, Option<&str>)]) -> Tree {
        let name = |text: &str| QueueName::new(text).unwrap();
        let queues = queues.iter().map(|(own, parent)| Queue {
            parent: parent.map(name),
            ..Queue::with_defaults(name(own))
        });
        Tree::new(&Policy { queues: queues.collect(), ..Policy::default() })
    }

    fn path(tree: &Tree, text: &str) -> Vec<String> {
        let queue = tree.index(&QueueName::new(text).unwrap()).unwrap();
        tree.path(queue).iter().map(|at| tree.name(*at).to_string()).collect()
    }

    #[test]
    fn the_example() {
        let tree = tree(&[("lab-run", Some("lab")), ("lab", None), ("lab-dev", Some("lab"))]);
        let at = |text: &str| tree.index(&QueueName::new(text).unwrap()).unwrap();
        assert_eq!(path(&tree, "lab-dev"), ["lab-dev", "lab"]);
        assert_eq!(path(&tree, "lab"), ["lab"]);
        assert_eq!((tree.depth(at("lab")), tree.depth(at("lab-run"))), (0, 1));
        assert_eq!(tree.parent(at("lab-run")), Some(at("lab")));
        assert_eq!(
            tree.paths_below_common_ancestor(at("lab-dev"), at("lab")),
            (&[at("lab-dev")][..], &[][..])
        );
    }

    #[test]
    fn unknown_parents_and_cycles_end_at_a_top() {
        let tree = tree(&[
            ("a", Some("b")),
            ("b", Some("c")),
            ("c", Some("b")),
            ("own", Some("own")),
            ("lost", Some("nowhere")),
        ]);
        assert_eq!(path(&tree, "a"), ["a", "b"]);
        assert_eq!(path(&tree, "b"), ["b"]);
        assert_eq!(path(&tree, "c"), ["c"]);
        assert_eq!(path(&tree, "own"), ["own"]);
        assert_eq!(path(&tree, "lost"), ["lost"]);
        let top = |text: &str| tree.index(&QueueName::new(text).unwrap()).unwrap();
        assert_eq!(
            tree.paths_below_common_ancestor(top("b"), top("c")),
            (&[top("b")][..], &[top("c")][..])
        );
    }

    #[test]
    fn of_two_queues_of_one_name_the_first_counts() {
        let tree = tree(&[("a", Some("b")), ("b", None), ("a", None)]);
        assert_eq!(tree.len(), 2);
        assert_eq!(path(&tree, "a"), ["a", "b"]);
    }
}
