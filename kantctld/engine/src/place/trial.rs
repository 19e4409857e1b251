//! What is free while a round works, with checkpoints and rollback.
//!
//! Only nodes that a round changes are copied; everything else is read from the cluster index.

use crate::model::cluster::bundle::BundleIndex;
use crate::model::cluster::free::Free;
use crate::model::cluster::group::{Counted, GroupIndex, Sums};
use crate::model::cluster::node::{Holder, NEVER};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use common::id::JobKey;
use common::time::Time;
use std::cell::Cell;
use std::ops::Range;

/// A node as a round changed it.
#[derive(Debug, Clone)]
struct Changed {
    at: NodeIndex,
    /// Its place before.
    before: u32,
    free: Free,
    /// Its holders, by their positions in `holders` of the trial.
    holders: Range<usize>,
    /// The trial's version when it was changed.
    version: u64,
}

/// What is free, and how to roll back.
#[derive(Debug, Clone)]
pub(crate) struct Trial<'a> {
    pub cluster: &'a ClusterIndex,
    /// For each node: 0, or one more than the index of its last change in `changed`.
    place: Vec<u32>,
    /// All changes, oldest first.
    changed: Vec<Changed>,
    /// The holders of the changed nodes, change by change.
    holders: Vec<Holder>,
    /// The sums of each group. `None`: a node changed since they were computed.
    sums: Vec<Cell<Option<Sums>>>,
    /// The same for each bundle of groups.
    bundle_sums: Vec<Cell<Option<Sums>>>,
    /// How many times a node was asked when it will have room.
    pub asked: Cell<u64>,
    /// How many searches for nodes were made.
    pub searched: Cell<u64>,
    /// Counts changes, so that callers can detect whether cached results are still valid.
    pub version: u64,
}

/// A point to roll back to. Checkpoints nest: the last one set is settled first.
#[derive(Debug)]
#[must_use = "a checkpoint is kept or rolled back"]
pub(crate) struct Checkpoint(usize);

impl<'a> Trial<'a> {
    /// Starts from the cluster as it is.
    pub fn of(cluster: &'a ClusterIndex) -> Self {
        debug_assert_eq!(cluster.sums().len(), cluster.groups().len(), "one sum for each group");
        Self {
            cluster,
            place: vec![0; cluster.len()],
            changed: Vec::new(),
            holders: Vec::new(),
            sums: cluster.sums().iter().map(|sums| Cell::new(Some(*sums))).collect(),
            bundle_sums: cluster.bundle_sums().iter().map(|sums| Cell::new(Some(*sums))).collect(),
            asked: Cell::new(0),
            searched: Cell::new(0),
            version: 0,
        }
    }

    fn changed_node(&self, at: NodeIndex) -> Option<&Changed> {
        (self.place[at.at()] as usize).checked_sub(1).map(|place| &self.changed[place])
    }

    /// What is free on a node.
    pub fn free(&self, at: NodeIndex) -> &Free {
        self.changed_node(at).map_or_else(|| &self.cluster.node(at).free, |own| &own.free)
    }

    /// The holders of a node, soonest end first.
    pub fn holders(&self, at: NodeIndex) -> &[Holder] {
        let own = |own: &Changed| &self.holders[own.holders.clone()];
        self.changed_node(at).map_or_else(|| &self.cluster.node(at).holders[..], own)
    }

    /// Nodes by the earliest end, at the latest, of a job there, soonest first.
    pub fn nodes_by_first_end(&self) -> impl Iterator<Item = (Time, NodeIndex)> + '_ {
        let mut own: Vec<(Time, NodeIndex)> = self
            .changed
            .iter()
            .filter(|changed| changed.before == 0)
            .map(|Changed { at, .. }| {
                (self.holders(*at).first().map_or(NEVER, |first| first.until), *at)
            })
            .collect();
        own.sort_unstable();
        let (mut own, mut others) =
            (own.into_iter().peekable(), self.cluster.nodes_by_first_end().iter());
        let mut others =
            std::iter::from_fn(move || others.find(|(_, at)| self.changed_node(*at).is_none()));
        let mut next = others.next().copied();
        std::iter::from_fn(move || match (own.peek(), next) {
            (Some(first), Some(other)) if *first < other => own.next(),
            (_, Some(other)) => {
                next = others.next().copied();
                Some(other)
            }
            (_, None) => own.next(),
        })
    }

    /// The version of a node. It changes whenever the node does.
    pub fn version_of(&self, at: NodeIndex) -> u64 {
        self.changed_node(at).map_or(0, |own| own.version)
    }

    /// How many jobs of this group run there.
    pub fn jobs_of_group(&self, at: NodeIndex, group: &str) -> u32 {
        let same = self.holders(at).iter().filter(|holder| holder.group.as_deref() == Some(group));
        u32::try_from(same.count()).unwrap_or(u32::MAX)
    }

    pub const fn groups_len(&self) -> usize {
        self.sums.len()
    }

    /// The sums of a group.
    pub fn sums(&self, group: GroupIndex) -> Sums {
        let known = &self.sums[group.0 as usize];
        known.get().unwrap_or_else(|| {
            let members = self.cluster.groups()[group.0 as usize].nodes.iter();
            let sums = Sums::of(members.map(|member| Counted {
                usable: self.cluster.node(*member).is_usable(),
                free: self.free(*member),
            }));
            known.set(Some(sums));
            sums
        })
    }

    /// The sums of a bundle of groups.
    pub fn bundle_sums(&self, bundle: BundleIndex) -> Sums {
        let known = &self.bundle_sums[bundle.0 as usize];
        known.get().unwrap_or_else(|| {
            let groups = &self.cluster.bundles()[bundle.0 as usize].groups;
            let each: Vec<Sums> = groups.iter().map(|group| self.sums(*group)).collect();
            let sums = Sums::sum_over(each.iter());
            known.set(Some(sums));
            sums
        })
    }

    /// Makes room for changes of this many nodes.
    pub fn reserve(&mut self, nodes: usize) {
        self.changed.reserve(nodes);
        self.holders.reserve(2 * nodes);
    }

    /// Changes what is free on a node, and a copy of its holders: those from the given position on.
    fn change(&mut self, at: NodeIndex, change: impl FnOnce(&mut Free, &mut Vec<Holder>, usize)) {
        let (mut free, first) = (self.free(at).clone(), self.holders.len());
        match self.changed_node(at).map(|own| own.holders.clone()) {
            Some(own) => self.holders.extend_from_within(own),
            None => self.holders.extend_from_slice(&self.cluster.node(at).holders),
        }
        change(&mut free, &mut self.holders, first);
        let (before, version) = (self.place[at.at()], self.version + 1);
        let holders = first..self.holders.len();
        self.changed.push(Changed { at, before, free, holders, version });
        self.put(at, u32::try_from(self.changed.len()).unwrap_or(u32::MAX));
    }

    /// Sets the place of a node.
    fn put(&mut self, at: NodeIndex, place: u32) {
        self.version += 1;
        self.place[at.at()] = place;
        let group = self.cluster.node(at).group.0 as usize;
        self.sums[group].set(None);
        self.bundle_sums[self.cluster.groups()[group].bundle.0 as usize].set(None);
    }

    /// A job takes a share of a node.
    pub fn take(&mut self, at: NodeIndex, holder: Holder) {
        debug_assert!(
            self.holders(at).iter().all(|other| other.key != holder.key),
            "{} holds a node twice",
            holder.key
        );
        let class = &self.cluster.node(at).class;
        let holder = holder.for_class(class);
        self.change(at, |free, holders, first| {
            free.take(class, &holder);
            let order = |other: &Holder| (other.until, other.key) < (holder.until, holder.key);
            let place = first + holders[first..].partition_point(order);
            holders.insert(place, holder);
        });
    }

    /// A job frees what it holds on a node.
    pub fn give_back(&mut self, at: NodeIndex, key: JobKey) {
        let class = &self.cluster.node(at).class;
        self.change(at, |free, holders, first| {
            if let Some(place) = holders[first..].iter().position(|holder| holder.key == key) {
                debug_assert!(free.holders > 0, "{key} gives back what it did not take");
                let holder = holders.remove(first + place);
                free.give_back(class, &holder);
            }
        });
    }

    /// Marks a point to roll back to.
    pub const fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.changed.len())
    }

    /// Undoes everything since the checkpoint.
    pub fn roll_back(&mut self, checkpoint: Checkpoint) {
        assert!(self.changed.len() >= checkpoint.0, "checkpoints were settled out of order");
        while self.changed.len() > checkpoint.0 {
            if let Some(Changed { at, before, holders, .. }) = self.changed.pop() {
                self.holders.truncate(holders.start);
                self.put(at, before);
            }
        }
    }

    /// Keeps what was done since the checkpoint. An outer checkpoint can still undo it.
    pub fn commit(&mut self, checkpoint: Checkpoint) {
        assert!(self.changed.len() >= checkpoint.0, "checkpoints were settled out of order");
    }
}
