//! The cluster's nodes, kept up to date: what each has, which jobs hold it, what is free, and sums
//! for groups of nodes, so that a round does not have to look at all nodes.
//!
//! Source: Kant (arXiv 2510.01256) page 11: GPU-type pools first, then group preselection, then the
//! nodes of a group.

pub(crate) mod bundle;
mod capacity;
pub(crate) mod class;
pub(crate) mod free;
pub(crate) mod freed;
pub(crate) mod group;
mod holding;
pub(crate) mod node;
pub(crate) mod switches;
pub(crate) mod tally;

use crate::model::node_snapshot::NodeSnapshot;
use bundle::Bundle;
use class::{Class, ClassKey};
use common::id::{NodeName, QueueName, ZoneName};
use common::node_names::NodeNames;
use common::policy::Policy;
use common::time::Time;
use group::{Group, GroupIndex, Sums};
use node::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use switches::Switches;

/// A node's position among the nodes, which are ordered by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeIndex(pub u32);

impl NodeIndex {
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterIndex {
    nodes: Vec<Node>,
    names: NodeNames,
    groups: Vec<Group>,
    sums: Vec<Sums>,
    bundles: Vec<Bundle>,
    bundle_sums: Vec<Sums>,
    switches: Switches,
    classes: BTreeMap<ClassKey, Arc<Class>>,
    /// For each queue that names nodes, which nodes those are.
    queue_nodes: BTreeMap<QueueName, Vec<bool>>,
    /// Zones that some queue keeps for its services.
    zones: BTreeSet<ZoneName>,
    /// The number of nodes of each class.
    class_sizes: Vec<(Arc<Class>, u32)>,
    /// Nodes by the earliest end, at the latest, of a job there, once a round asked for that.
    by_end: OnceLock<Vec<(Time, NodeIndex)>>,
    /// The nodes in the order of the last time, most of which are still in order.
    last_by_end: Vec<NodeIndex>,
    /// For each node the number of the last change. A number is never used again.
    versions: Vec<u64>,
    last_version: u64,
    /// Nodes that were added since the groups were made.
    arrivals: BTreeMap<NodeName, Node>,
    is_laid_out: bool,
}

impl ClusterIndex {
    /// Adds a node, or changes what it has and whether jobs may start there. Its holders stay.
    pub fn set_node(&mut self, node: &NodeSnapshot) {
        let class = self.intern_class(node);
        if let Some(at) = self.find(&node.name) {
            let known = &mut self.nodes[at.at()];
            let same_class = known.class.key() == class.key() && known.class.is_numbered_as(&class);
            known.change(node, class);
            self.last_version += 1;
            self.versions[at.at()] = self.last_version;
            if same_class {
                self.update_group_sums(BTreeSet::from([self.nodes[at.at()].group]));
            } else {
                self.is_laid_out = false;
            }
            return;
        }
        self.is_laid_out = false;
        match self.arrivals.get_mut(&node.name) {
            Some(known) => known.change(node, class),
            None => {
                self.arrivals.insert(node.name.clone(), Node::new(node, class));
            }
        }
    }

    /// The class of this node. Nodes with equal equipment share one.
    fn intern_class(&mut self, node: &NodeSnapshot) -> Arc<Class> {
        let class = Class::of(&node.inventory);
        let known = self.classes.entry(class.key()).or_insert_with(|| Arc::new(class.clone()));
        if *known.inventory == *node.inventory { known.clone() } else { Arc::new(class) }
    }

    pub fn remove_node(&mut self, name: &NodeName) {
        self.arrivals.remove(name);
        if let Some(at) = self.find(name) {
            self.nodes.remove(at.at());
            self.is_laid_out = false;
            self.rebuild_name_index();
        }
    }

    /// Whether all nodes are in their groups.
    pub const fn is_grouped(&self) -> bool {
        self.is_laid_out
    }

    /// Puts all nodes into groups, after nodes or the policy changed.
    pub fn group_nodes(&mut self, policy: &Policy) {
        if !self.arrivals.is_empty() {
            let mut all: BTreeMap<NodeName, Node> = std::mem::take(&mut self.arrivals);
            all.extend(self.nodes.drain(..).map(|node| (node.name.clone(), node)));
            self.nodes = all.into_values().collect();
            self.rebuild_name_index();
        }
        for node in &mut self.nodes {
            node.position = policy.topology.0.get(&node.name).cloned().unwrap_or_default();
        }
        self.switches = Switches::from_positions(self.nodes.iter().map(|node| &node.position));
        self.groups = group::groups(&self.nodes, &self.switches);
        debug_assert_eq!(
            self.groups.iter().map(|group| group.nodes.len()).sum::<usize>(),
            self.nodes.len(),
            "each node is in one group"
        );
        for (number, group) in (0..).zip(&self.groups) {
            for at in &group.nodes {
                self.nodes[at.at()].group = GroupIndex(number);
            }
        }
        let count =
            |group: &Group| Sums::of(group.nodes.iter().map(|at| self.nodes[at.at()].to_counted()));
        self.sums = self.groups.iter().map(count).collect();
        self.bundles = bundle::bundles(&self.nodes, &mut self.groups);
        self.bundle_sums = self.bundles.iter().map(|bundle| self.sum_up(bundle)).collect();
        self.queue_nodes = policy
            .queues
            .iter()
            .filter(|queue| !queue.nodes.is_empty())
            .map(|queue| {
                let mut named = vec![false; self.nodes.len()];
                for at in queue.nodes.iter().filter_map(|name| self.find(name)) {
                    named[at.at()] = true;
                }
                (queue.name.clone(), named)
            })
            .collect();
        self.zones = policy.queues.iter().filter_map(|queue| queue.zone.clone()).collect();
        self.by_end = OnceLock::new();
        self.last_by_end = self.nodes().map(|(at, _)| at).collect();
        let mut sizes: BTreeMap<ClassKey, (Arc<Class>, u32)> = BTreeMap::new();
        for node in &self.nodes {
            sizes.entry(node.class.key()).or_insert_with(|| (node.class.clone(), 0)).1 += 1;
        }
        self.class_sizes = sizes.into_values().collect();
        self.is_laid_out = true;
    }

    /// Marks the groups as outdated after a change of policy. They are made again before the next
    /// round.
    pub fn mark_groups_outdated(&mut self) {
        self.is_laid_out = false;
    }

    fn rebuild_name_index(&mut self) {
        self.last_version += 1;
        self.versions = vec![self.last_version; self.nodes.len()];
        self.names = NodeNames::default();
        self.nodes.iter().for_each(|node| self.names.add(&node.name));
    }

    pub fn node(&self, at: NodeIndex) -> &Node {
        &self.nodes[at.at()]
    }

    /// The position of a node. `None`: it is not known.
    pub fn find(&self, name: &NodeName) -> Option<NodeIndex> {
        self.names.find(name, |at| &self.nodes[at as usize].name).map(NodeIndex)
    }

    /// All nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).zip(&self.nodes).map(|(at, node)| (NodeIndex(at), node))
    }

    /// Nodes by the earliest end, at the latest, of a job there.
    pub fn nodes_by_first_end(&self) -> &[(Time, NodeIndex)] {
        self.by_end.get_or_init(|| {
            let ends = self.last_by_end.iter().map(|at| (self.node(*at).first_end(), *at));
            let mut ends: Vec<(Time, NodeIndex)> = ends.collect();
            // A stable sort is fast where much is in order already.
            ends.sort();
            ends
        })
    }

    /// The number of nodes that are down or drained.
    pub fn unusable_count(&self) -> usize {
        self.nodes.len() - self.sums.iter().map(|sums| sums.usable as usize).sum::<usize>()
    }

    /// The number of the last change of a node.
    pub fn version_of(&self, at: NodeIndex) -> u64 {
        self.versions[at.at()]
    }

    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The sums of all groups, at the start of a trial.
    pub fn sums(&self) -> &[Sums] {
        &self.sums
    }

    pub fn bundles(&self) -> &[Bundle] {
        &self.bundles
    }

    /// The sums of all bundles, at the start of a trial.
    pub fn bundle_sums(&self) -> &[Sums] {
        &self.bundle_sums
    }

    /// The switches and the nodes under them.
    pub const fn switches(&self) -> &Switches {
        &self.switches
    }

    /// The number of nodes of each class, up or down.
    pub fn class_sizes(&self) -> &[(Arc<Class>, u32)] {
        &self.class_sizes
    }

    /// The zone of a node, if some queue keeps that zone for its services.
    pub fn dedicated_zone(&self, at: NodeIndex) -> Option<&ZoneName> {
        let zone = self.nodes[at.at()].position.zone.as_ref();
        zone.filter(|zone| self.zones.contains(*zone))
    }

    /// The nodes that a queue names. `None`: it may use all.
    pub fn of_queue(&self, queue: &QueueName) -> Option<&[bool]> {
        self.queue_nodes.get(queue).map(Vec::as_slice)
    }

    /// The nodes as a snapshot lists them.
    pub fn snapshots(&self) -> Vec<NodeSnapshot> {
        let mut all: Vec<&Node> = self.nodes.iter().chain(self.arrivals.values()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.into_iter().map(Node::snapshot).collect()
    }
}
