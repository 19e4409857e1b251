//! Whether a job with a promise could get an earlier start. Only nodes on which resources were
//! freed since the last check are examined. If unsure, the answer is yes.

use super::RoundState;
use super::reserve::Booked;
use crate::model::cluster::NodeIndex;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::place::backfill::earliest::part_sizes;
use crate::place::node_search::openings::Occupancy;
use common::time::{Span, Time};
use std::sync::Arc;

impl<'a> RoundState<'a> {
    /// Whether the job has a promise on certain nodes for a later time that stays as it is.
    pub(super) fn stays_as_planned(&mut self, job: &'a Arc<WaitingJob>, shape: ShapeIndex) -> bool {
        let Some(planned_start) = self.planned_starts.get(&job.key) else { return false };
        if planned_start.nodes.is_empty() || planned_start.at <= self.now {
            return false;
        }
        let found = planned_start.nodes.iter().filter_map(|name| self.trial.cluster.find(name));
        let own: Vec<NodeIndex> = found.collect();
        let stays = self.has_no_earlier_start(job, shape, planned_start.at, &own);
        if stays {
            self.stays = Some(job.key);
        }
        stays
    }

    /// Whether no earlier start is possible before a promised one. A start at the same time on
    /// nodes of lower position counts as well.
    fn has_no_earlier_start(
        &self,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        at: Time,
        own: &[NodeIndex],
    ) -> bool {
        if !self.snapshot.is_looser {
            // Nothing was freed sooner than promises expected.
            return true;
        }
        // Whether the job would be admitted is not checked here.
        let Some(mut freed) = self.freed.nodes() else { return false };
        if self.snapshot.has_bounds {
            return false;
        }
        let shape = self.shapes.get(shape);
        let is_plain = job.request.tasks_min.is_none()
            && job.together.is_none()
            && job.reservation.is_none()
            && !self.planned_starts.get(&job.key).is_none_or(|planned_start| planned_start.yielded);
        let ([side], Some(nodes), true) = (&shape.sides()[..], shape.node_count(), is_plain) else {
            return false;
        };
        let search = self.node_search_of(job, shape, *side, &[]);
        let Some(smallest) = part_sizes(&search, nodes).last().map(|size| size.part) else {
            return false;
        };
        let length = job.time_limit.unwrap_or(Span(u64::MAX));
        // Among equal starts the one on the first nodes is taken, unless switches matter.
        let is_free_to_choose = job.request.near.is_none() && job.request.segment.is_none();
        let last = own.iter().max().copied().filter(|_| is_free_to_choose);
        let may_help = |node: NodeIndex| {
            if !search.allows(node) {
                return false;
            }
            let mut helps = false;
            let takes = search.usage_on_node(node, smallest);
            // On another node, a start at the same time matters, too.
            let is_before = !own.contains(&node) && last.is_none_or(|last| node < last);
            let look = |from: Time, to: Time| {
                helps = from < at || (is_before && from <= at && at <= to);
                from < at && !helps
            };
            let occupancy = Occupancy { takes, length };
            self.bookings.start_intervals_without(&search, node, occupancy, at, job.key, look);
            helps
        };
        !freed.any(may_help)
    }

    /// Marks what was kept on these nodes as freed.
    pub(super) fn free_up(&mut self, nodes: &[NodeIndex]) {
        nodes.iter().for_each(|at| self.freed.add(*at));
    }

    /// Reverts that, since the bookings are kept after all.
    pub(super) fn unmark_freed(&mut self, own: &Booked) {
        own.nodes.iter().for_each(|at| self.freed.take_back(*at));
    }
}
