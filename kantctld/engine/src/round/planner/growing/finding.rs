//! Finds one more node for a growing job.

use super::super::RoundState;
use super::Grower;
use crate::model::cluster::NodeIndex;
use crate::model::shape::Placing;
use crate::model::shape::Shape;
use crate::place::node_search::NodeSearch;
use crate::place::placing::place;
use common::resource::Share;
use common::topology::Level;
use common::unit::Tasks;
use std::collections::BTreeSet;

impl RoundState<'_> {
    /// One more node for the job, under a leaf of its own nodes if possible.
    pub(super) fn find_more(
        &self,
        grower: &Grower<'_>,
        off: &[bool],
    ) -> Option<(NodeIndex, Share)> {
        let cluster = self.trial.cluster;
        let leaf = |at: NodeIndex| cluster.switches().switch_of_node(Level::Leaf, at);
        let leafs: BTreeSet<_> = grower.on.iter().filter_map(|at| leaf(*at)).collect();
        if !leafs.is_empty() {
            let is_far = |at| leaf(at).is_none_or(|leaf| !leafs.contains(&leaf));
            let near: Vec<bool> =
                cluster.nodes().map(|(at, _)| off[at.at()] || is_far(at)).collect();
            if let Some(found) = self.find_node(grower, &near) {
                return Some(found);
            }
        }
        self.find_node(grower, off)
    }

    /// One more node, with as many tasks as it holds.
    fn find_node(&self, grower: &Grower<'_>, off: &[bool]) -> Option<(NodeIndex, Share)> {
        let asked = &grower.growing.asked;
        let left = grower.request.tasks.0.saturating_sub(grower.has.0);
        let most = grower.request.tasks_per_node.map_or(left, |each| each.0.min(left));
        let (cluster, policy) = (self.trial.cluster, &self.snapshot.policy);
        let typical = self.shapes.yardsticks();
        let (request, queue) = (&grower.request, grower.queue);
        let shape = Shape::new(cluster, policy, queue, request, asked.service, typical);
        let with = |tasks: u32| {
            let mut shape = shape.clone();
            shape.demand = shape.demand.with_tasks(Tasks(tasks));
            let placed = shape.sides().into_iter().find_map(|Placing { side, placement }| {
                let search = NodeSearch {
                    trial: &self.trial,
                    shape: &shape,
                    bookings: &self.bookings,
                    reservation: asked.reservation.as_ref(),
                    now: self.now,
                    ends: grower.ends,
                    side,
                    placement,
                    avoid: off,
                };
                place(&search)
            });
            placed.and_then(|placed| Some((*placed.nodes.first()?, placed.shares.first()?.clone())))
        };
        let (mut fits, mut too_many) = (1, most + 1);
        let mut found = with(most);
        if found.is_some() || most <= 1 {
            return found;
        }
        found = Some(with(fits)?);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            match with(middle) {
                Some(more) => (fits, found) = (middle, Some(more)),
                None => too_many = middle,
            }
        }
        found
    }
}
