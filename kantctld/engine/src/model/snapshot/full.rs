//! What kinds of jobs without room ask of one node, each with the few nodes that hold it. A later
//! round looks at these nodes and at those freed since, not at all nodes. Resources kept for other
//! jobs are not considered here; each round checks those again.

use super::Snapshot;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::cluster::tally::Takes;
use crate::model::wait_queue::{KindId, PartId};
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// If more nodes were freed than this, a part is searched for again.
pub(crate) const FREED_MAX: usize = 512;

/// For this many parts it is kept when nodes will be ready.
const READY_MAX: usize = 8;

/// When this many more nodes were freed than there are, the log starts again.
const LOG_SPARE: usize = 65_536;

/// The nodes that may hold one node's part of some kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// The number of nodes on which a job runs whose kind leaves that open.
    pub needs: usize,
    /// A lower bound of what a part takes.
    pub least: Takes,
    /// All nodes that held a part, ascending.
    pub nodes: Arc<[NodeIndex]>,
    /// How long the log of freed nodes was then.
    pub since: usize,
}

/// For each node, when it will have room for one node's part of some kinds, if no other job starts
/// and nothing is kept there, with the version of the node that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReadyTimes(Vec<(u64, Time)>);

impl ReadyTimes {
    /// When a node will be ready, if it was asked at this version.
    pub fn at(&self, at: NodeIndex, version: u64) -> Option<Time> {
        self.0.get(at.at()).filter(|(known, _)| *known == version).map(|(_, time)| *time)
    }

    /// Adds the answers of some of this many nodes.
    pub fn update(&mut self, nodes: usize, asked: &[Ready]) {
        self.0.resize(nodes, (0, NEVER));
        for one in asked {
            if let Some(known) = self.0.get_mut(one.at.at()) {
                *known = (one.version, one.time);
            }
        }
    }
}

/// When one node will be ready, and the version of the node that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ready {
    pub at: NodeIndex,
    pub version: u64,
    pub time: Time,
}

/// What a round found full. All values compare as equal, so that rounds with equal decisions are
/// equal.
#[derive(Debug, Clone, Eq, Default)]
pub struct Full {
    pub(crate) parts: BTreeMap<PartId, Candidates>,
    /// Kinds without room that an idle cluster could hold.
    pub(crate) possible: BTreeSet<KindId>,
    /// For parts of jobs whose starts were planned: the nodes that were asked.
    pub(crate) ready: BTreeMap<PartId, Vec<Ready>>,
}

impl PartialEq for Full {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What rounds found full, and where resources were freed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct Remembered {
    parts: BTreeMap<PartId, Candidates>,
    possible: BTreeSet<KindId>,
    ready: BTreeMap<PartId, Arc<ReadyTimes>>,
    freed: Vec<NodeIndex>,
}

impl Remembered {
    /// What is known of the nodes for this part.
    pub fn candidates_for_part(&self, part: PartId) -> Option<&Candidates> {
        self.parts.get(&part)
    }

    /// Whether an earlier round found that an idle cluster could hold this kind.
    pub fn fits_idle_cluster(&self, kind: KindId) -> bool {
        self.possible.contains(&kind)
    }

    /// When nodes will be ready for this part.
    pub fn ready(&self, part: PartId) -> Option<&ReadyTimes> {
        self.ready.get(&part).map(Arc::as_ref)
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
    pub fn add_found_full(&mut self, full: Full) {
        self.full.parts.extend(full.parts);
        self.full.possible.extend(full.possible);
        for (part, asked) in &full.ready {
            let known = self.full.ready.entry(*part).or_default();
            Arc::make_mut(known).update(self.cluster.len(), asked);
        }
        if self.full.ready.len() > READY_MAX {
            self.full.ready.retain(|part, _| full.ready.contains_key(part));
        }
        let most = 2 * self.wait_queue.kinds_len() + FREED_MAX;
        if self.full.parts.len() + self.full.possible.len() > 2 * most {
            let queue = &self.wait_queue;
            self.full.possible.retain(|kind| queue.kind_of(*kind).is_some());
            let parts: BTreeSet<PartId> = queue.kinds().map(|(_, kind)| kind.part).collect();
            self.full.parts.retain(|part, _| parts.contains(part));
        }
        if self.full.freed.len() > self.cluster.len() + LOG_SPARE {
            self.forget_full();
        }
    }

    /// Skips the reasons why jobs wait, unless the next round needs them.
    pub fn set_skip_reasons(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
    }

    /// Notes that resources were freed on this node.
    pub(super) fn note_freed_on(&mut self, at: NodeIndex) {
        self.freed.add(at);
        if !self.full.parts.is_empty() {
            self.full.freed.push(at);
        }
    }

    /// Forgets what was full: there may be room now.
    pub(super) fn forget_full(&mut self) {
        self.full = Remembered::default();
    }
}
