//! What jobs have in common that ask for the same in queues that place jobs in the same way: what
//! they need, and which nodes they may use. Computed once per round.

use crate::model::cluster::class::Class;
use crate::model::cluster::free::Free;
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::demand::{Demand, Part};
use crate::model::features::{data_lacked, nodes_with};
use crate::model::yardstick::Yardsticks;
use common::gpu_parts::PartSize;
use common::id::NodeName;
use common::policy::queue::Queue;
use common::policy::{Placement, Policy};
use common::resource::Request;
use common::unit::{Gpus, Nodes, Tasks};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// Which part of the cluster a job is restricted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The zone of its queue.
    Zone,
    /// All nodes outside of zones.
    Outside,
}

/// Where to look, and how nodes are chosen there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placing {
    pub side: Side,
    pub placement: Placement,
}

/// What jobs of one shape have in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'a> {
    pub queue: &'a Queue,
    pub demand: Demand<'a>,
    pub service: bool,
    /// What jobs of this cluster typically ask for.
    pub typical: Arc<Yardsticks>,
    /// The nodes that its queue names.
    of_queue: Option<&'a [bool]>,
    only: Option<BTreeSet<NodeIndex>>,
    /// The only nodes that may have room now, ascending, if that is known.
    pub among: Option<Arc<[NodeIndex]>>,
    not: BTreeSet<NodeIndex>,
    /// The nodes with the features it asks for. `None`: it asks for none.
    featured: Option<Rc<[bool]>>,
    /// How many names of its data each node lacks, by position. `None`: it names none.
    pub lacks: Option<Rc<[u32]>>,
    /// Whether zones are kept for services.
    has_zones: bool,
    /// The number of nodes over which a job with a total of GPUs, and no number of nodes, is
    /// spread.
    spread: Nodes,
}

impl<'a> Shape<'a> {
    pub fn new(
        cluster: &'a ClusterIndex,
        policy: &Policy,
        queue: &'a Queue,
        request: &'a Request,
        service: bool,
        typical: Arc<Yardsticks>,
    ) -> Self {
        let featured = request.constraint.as_ref().map(|asked| nodes_with(cluster, asked));
        Self::with_feature_nodes(
            cluster,
            has_zones(policy),
            queue,
            request,
            service,
            typical,
            featured,
        )
    }

    pub fn with_feature_nodes(
        cluster: &'a ClusterIndex,
        has_zones: bool,
        queue: &'a Queue,
        request: &'a Request,
        service: bool,
        typical: Arc<Yardsticks>,
        featured: Option<Rc<[bool]>>,
    ) -> Self {
        let found = |names: &[NodeName]| -> BTreeSet<NodeIndex> {
            names.iter().filter_map(|name| cluster.find(name)).collect()
        };
        let only = (!request.only_nodes.is_empty()).then(|| found(&request.only_nodes));
        let mut shape = Self {
            queue,
            demand: Demand::new(request, queue),
            service,
            typical,
            of_queue: cluster.of_queue(&queue.name),
            only,
            among: None,
            not: found(&request.not_nodes),
            featured,
            lacks: (!request.data.is_empty()).then(|| data_lacked(cluster, &request.data)),
            has_zones,
            spread: Nodes(1),
        };
        if request.gpu_parts().is_some_and(|parts| matches!(parts.each, PartSize::Memory(_))) {
            let sizes = shape.usable_nodes_by_class(cluster);
            shape.demand = shape.demand.limited_to_classes(sizes.iter().map(|(class, _)| &**class));
        }
        if let (None, Some(gpus)) = (request.nodes, shape.demand.gpus_total()) {
            shape.spread = shape.fewest_nodes_for_gpus(cluster, gpus);
        }
        shape
    }

    /// Whether a job of this shape may use this node, up or down, in use or not.
    pub fn allows(&self, at: NodeIndex) -> bool {
        self.of_queue.is_none_or(|named| named[at.at()])
            && self.only.as_ref().is_none_or(|only| only.contains(&at))
            && (self.not.is_empty() || !self.not.contains(&at))
            && self.featured.as_ref().is_none_or(|featured| featured[at.at()])
    }

    /// Whether it may use every node that is up.
    pub fn may_have_all(&self) -> bool {
        let by_name = self.of_queue.is_none() && self.only.is_none() && self.not.is_empty();
        by_name && self.featured.is_none() && !self.has_zones
    }

    /// Whether a node is on this side of the zones.
    pub fn is_on_side(&self, cluster: &ClusterIndex, at: NodeIndex, side: Side) -> bool {
        if !self.has_zones {
            return side == Side::Outside;
        }
        match (side, cluster.dedicated_zone(at)) {
            (Side::Outside, zone) => zone.is_none(),
            (Side::Zone, zone) => zone.is_some() && zone == self.queue.zone.as_ref(),
        }
    }

    /// The sides to try, in this order, and the placement on each (E-Spread).
    pub fn sides(&self) -> Vec<Placing> {
        let on = |side, placement| Placing { side, placement };
        let placement = self.queue.placement;
        if placement != Placement::ESpread {
            return vec![on(Side::Outside, placement)];
        }
        let pack = on(Side::Outside, Placement::EBinpack);
        match (self.service, &self.queue.zone, self.queue.zone_overflow) {
            (false, ..) => vec![pack],
            (true, None, _) => vec![on(Side::Outside, Placement::ESpread)],
            (true, Some(_), common::policy::ZoneOverflow::Wait) => {
                vec![on(Side::Zone, Placement::ESpread)]
            }
            (true, Some(_), common::policy::ZoneOverflow::Pack) => {
                vec![on(Side::Zone, Placement::ESpread), pack]
            }
        }
    }

    /// The number of nodes it is placed on. `None`: as few as hold its tasks.
    pub fn node_count(&self) -> Option<Nodes> {
        let request = self.demand.request;
        request.nodes.or_else(|| self.demand.gpus_total().map(|_| self.spread)).or_else(|| {
            (self.demand.tasks.0 == 1 || request.tasks_per_node == Some(Tasks(1)))
                .then_some(Nodes(self.demand.tasks.0))
        })
    }

    /// The same shape with the fewest tasks with which an elastic job runs.
    pub fn with_fewest_tasks(&self) -> Cow<'_, Self> {
        match self.demand.request.tasks_min {
            None => Cow::Borrowed(self),
            Some(least) => {
                let demand = self.demand.with_tasks(least);
                Cow::Owned(Self { demand, ..self.clone() })
            }
        }
    }

    /// The fewest nodes that are up and, if idle, could hold the GPUs evenly; if those cannot, of
    /// all nodes; if none can, as many as the GPUs need, for the reason that is shown.
    fn fewest_nodes_for_gpus(&self, cluster: &ClusterIndex, gpus: Gpus) -> Nodes {
        let all = self.usable_nodes_by_class(cluster);
        if cluster.unusable_count() > 0 {
            let up = self.counted_nodes_by_class(cluster, |at| cluster.node(at).is_usable());
            let spread = self.fewest_nodes(&up, gpus);
            if self.could_hold(&up, spread) {
                return spread;
            }
        }
        self.fewest_nodes(&all, gpus)
    }

    fn fewest_nodes(&self, sizes: &[(Arc<Class>, u32)], gpus: Gpus) -> Nodes {
        let largest = sizes.iter().map(|(class, _)| class.gpu_count().0).max().unwrap_or(1).max(1);
        let most = self.demand.tasks.0.max(1);
        let first = gpus.0.div_ceil(largest).max(1);
        (first..=most.min(first.saturating_add(4096)))
            .find(|nodes| self.could_hold(sizes, Nodes(*nodes)))
            .map_or(Nodes(first.min(most)), Nodes)
    }

    /// Whether this many idle nodes of these classes could hold all parts.
    pub fn could_hold(&self, sizes: &[(Arc<Class>, u32)], nodes: Nodes) -> bool {
        let count = |part: Part| -> u32 {
            sizes.iter().filter(|(class, _)| self.fits_idle(class, part)).map(|(_, n)| n).sum()
        };
        let all = nodes.0.max(1);
        let gpus = self.demand.gpus_total().map_or(0, |gpus| gpus.0 % all);
        // Parts shrink after these ranks: a node that holds one holds each later one.
        let ends = [self.demand.tasks.0 % all, gpus, nodes.0];
        let part = |rank| self.demand.even_part(nodes, rank);
        ends.into_iter().filter(|end| *end > 0).all(|end| count(part(end - 1)) >= end)
    }

    /// How many nodes of each class it may use, up or down.
    pub fn usable_nodes_by_class(&self, cluster: &ClusterIndex) -> Vec<(Arc<Class>, u32)> {
        if self.may_have_all() {
            return cluster.class_sizes().to_vec();
        }
        self.counted_nodes_by_class(cluster, |_| true)
    }

    /// Whether it may use the node, up or down, large enough or not.
    pub fn may_ever_use(&self, cluster: &ClusterIndex, at: NodeIndex) -> bool {
        self.allows(at)
            && self.sides().iter().any(|placing| self.is_on_side(cluster, at, placing.side))
    }

    /// The same for certain nodes.
    fn counted_nodes_by_class(
        &self,
        cluster: &ClusterIndex,
        counts: impl Fn(NodeIndex) -> bool,
    ) -> Vec<(Arc<Class>, u32)> {
        let mut sizes: BTreeMap<crate::model::cluster::class::ClassKey, (Arc<Class>, u32)> =
            BTreeMap::new();
        let mine = |at: &NodeIndex| self.may_ever_use(cluster, *at) && counts(*at);
        for (_, node) in cluster.nodes().filter(|(at, _)| mine(at)) {
            sizes.entry(node.class.key()).or_insert_with(|| (node.class.clone(), 0)).1 += 1;
        }
        sizes.into_values().collect()
    }

    /// Whether an idle node of this class would hold the part.
    pub fn fits_idle(&self, class: &Class, part: Part) -> bool {
        let request = self.demand.request;
        request.tasks_per_node.is_none_or(|most| part.tasks <= most)
            && Free::of_idle_node(class).holds(self.demand.usage_on_class(part, class))
    }
}

/// Whether zones are kept for services.
pub(crate) fn has_zones(policy: &Policy) -> bool {
    policy.queues.iter().any(|queue| queue.zone.is_some())
}
