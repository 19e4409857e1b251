//! Where one job looks for room now: the nodes that it may use, and what each of them holds.
//!
//! Source: Kant (arXiv 2510.01256) page 11, groups are chosen before nodes, and page 9, the
//! inference zone.

pub(crate) mod bookings;
pub(crate) mod openings;
mod timeline;

use crate::model::cluster::bundle::BundleIndex;
use crate::model::cluster::group::{GroupIndex, Sums};
use crate::model::cluster::tally::Takes;
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::demand::{Part, most_tasks};
use crate::model::shape::{Shape, Side};
use crate::place::trial::Trial;
use bookings::Bookings;
use common::id::ReservationName;
use common::policy::Placement;
use common::time::Time;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Tasks};

/// Where a job looks for room.
#[derive(Clone, Copy)]
pub(crate) struct NodeSearch<'a> {
    pub trial: &'a Trial<'a>,
    pub shape: &'a Shape<'a>,
    /// What is kept for others, and when.
    pub bookings: &'a Bookings,
    /// The reservation that the job runs in.
    pub reservation: Option<&'a ReservationName>,
    pub now: Time,
    /// The job's latest end.
    pub ends: Time,
    pub side: Side,
    pub placement: Placement,
    /// Nodes to avoid, by position. Empty: none.
    pub avoid: &'a [bool],
}

impl<'a> NodeSearch<'a> {
    pub const fn cluster(&self) -> &'a ClusterIndex {
        self.trial.cluster
    }

    /// Whether nothing is booked anywhere, and the job has no reservation.
    pub fn is_unreserved(&self) -> bool {
        self.bookings.is_empty() && self.reservation.is_none()
    }

    /// Whether the job may use this node at all.
    pub fn allows(&self, at: NodeIndex) -> bool {
        let node = self.cluster().node(at);
        if !node.is_usable() || self.avoid.get(at.at()).copied().unwrap_or(false) {
            return false;
        }
        self.shape.allows(at) && self.shape.is_on_side(self.cluster(), at, self.side)
    }

    /// What a part takes on this node.
    pub fn usage_on_node(&self, at: NodeIndex, part: Part) -> Takes {
        self.shape.demand.usage_on_class(part, &self.cluster().node(at).class)
    }

    /// Whether this node holds the part from now until the job's latest end.
    pub fn holds(&self, at: NodeIndex, part: Part) -> bool {
        let request = self.shape.demand.request;
        if request.tasks_per_node.is_some_and(|most| part.tasks > most) {
            return false;
        }
        let takes = self.usage_on_node(at, part);
        self.trial.free(at).holds(takes)
            && self.allows(at)
            && request
                .per_node_max()
                .is_none_or(|(group, most)| self.trial.jobs_of_group(at, group) < most)
            && self.bookings.leave_room(self, at, takes)
    }

    /// The most tasks of the job that this node holds.
    pub fn tasks_fitting(&self, at: NodeIndex) -> Tasks {
        let demand = &self.shape.demand;
        most_tasks(demand.tasks, |tasks| self.holds(at, demand.part(tasks)))
    }

    /// Whether the group's sums show that none of its nodes holds this much.
    pub fn rules_out(&self, group: GroupIndex, takes: Takes) -> bool {
        self.sums(group).rule_out(takes)
    }

    /// Whether no node of this group has a GPU of an accepted kind.
    pub fn is_of_other_kind(&self, group: GroupIndex, takes: Takes) -> bool {
        let bundle = self.cluster().groups()[group.0 as usize].bundle;
        self.bundle_is_of_other_kind(bundle, takes)
    }

    fn bundle_is_of_other_kind(&self, bundle: BundleIndex, takes: Takes) -> bool {
        let wants = takes.resources.gpus > Gpus::ZERO || takes.milli > GpuMilli::ZERO;
        let class = || &self.cluster().bundles()[bundle.0 as usize].class;
        wants && class().accepted_positions(self.shape.demand.request) == 0
    }

    /// The groups whose sums do not rule out a node that holds this much.
    pub fn open_groups(&self, takes: Takes) -> impl Iterator<Item = GroupIndex> + '_ {
        let bundles = (0..).map(BundleIndex).take(self.cluster().bundles().len());
        let is_closed = |bundle: BundleIndex| {
            self.trial.bundle_sums(bundle).rule_out(takes)
                || self.bundle_is_of_other_kind(bundle, takes)
        };
        let closed: Vec<bool> = bundles.map(is_closed).collect();
        let groups = self.cluster().groups();
        let is_open = move |group: &GroupIndex| !closed[groups[group.0 as usize].bundle.0 as usize];
        self.groups().filter(is_open).filter(move |group| !self.rules_out(*group, takes))
    }

    pub fn sums(&self, group: GroupIndex) -> Sums {
        self.trial.sums(group)
    }

    /// A lower bound of what a part takes on any node. A demand for all memory of a node counts as
    /// none.
    pub fn takes_least(&self, part: Part) -> Takes {
        let demand = &self.shape.demand;
        let mut takes = Takes {
            resources: demand.amounts_of(part, Bytes::ZERO),
            whole_node: demand.request.exclusive,
            ..Takes::default()
        };
        if let Some(parts) = demand.parts {
            (takes.resources.gpus, takes.milli, takes.shared) =
                (Gpus::ZERO, parts.least, parts.devices);
        }
        takes.resources.cpus = takes.resources.cpus.max(Cpus(1));
        takes
    }

    pub fn groups(&self) -> impl Iterator<Item = GroupIndex> + use<> {
        (0..u32::try_from(self.trial.groups_len()).unwrap_or(u32::MAX)).map(GroupIndex)
    }

    /// The nodes of a group, in ascending order.
    pub fn nodes_of(&self, group: GroupIndex) -> &'a [NodeIndex] {
        &self.cluster().groups()[group.0 as usize].nodes
    }

    /// All nodes that hold a part, group by group.
    pub fn all_that_hold(&self, part: Part) -> impl Iterator<Item = NodeIndex> + '_ {
        let among = self.shape.among.as_deref();
        let groups = among.is_none().then(|| self.open_groups(self.takes_least(part)));
        let all = groups.into_iter().flatten().flat_map(|group| self.nodes_of(group));
        all.chain(among.unwrap_or_default()).copied().filter(move |at| self.holds(*at, part))
    }
}
