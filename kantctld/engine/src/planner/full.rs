//! Kinds of jobs that the last round found full, compared with what was freed since. What is kept
//! for others does not matter here: it only reduces the room.

use super::RoundState;
use crate::job::WaitingJob;
use crate::node_search::NodeSearch;
use crate::node_search::bookings::Bookings;
use crate::shape::Shape;
use crate::shape_cache::ShapeIndex;
use crate::wait_queue::KindId;

impl RoundState<'_> {
    /// Whether a job of this kind is known from the last round to have no room.
    pub(super) fn is_still_full(&self, kind: KindId, job: &WaitingJob, index: ShapeIndex) -> bool {
        let shape = self.shapes.get(index);
        let snapshot = self.snapshot;
        if !snapshot.full.0.contains(&kind) || !self.counts_nodes(job, shape) {
            return false;
        }
        let nothing = Bookings::default();
        let part = shape.demand.even_part(shape.nodes().unwrap_or_default(), 0);
        !shape.sides().into_iter().any(|side| {
            let search = self.node_search_of(job, shape, side, &[]);
            let search = NodeSearch { bookings: &nothing, reservation: None, ..search };
            snapshot.came_free.iter().any(|at| search.holds(*at, part))
        })
    }

    /// Notes that a job of this kind has no room, even without what is kept for others.
    pub(super) fn is_full(&mut self, kind: KindId, job: &WaitingJob, index: ShapeIndex) {
        if self.counts_nodes(job, self.shapes.get(index)) {
            self.kinds_full.0.insert(kind);
        }
    }

    /// Whether the job fits exactly if enough nodes hold one and the same part, and nothing is kept
    /// for it or for jobs that wait for victims.
    fn counts_nodes(&self, job: &WaitingJob, shape: &Shape<'_>) -> bool {
        let request = &job.request;
        let is_even = shape.nodes().is_some_and(|nodes| {
            let ends = [0, nodes.0.saturating_sub(1)];
            let [first, last] = ends.map(|rank| shape.demand.even_part(nodes, rank));
            first == last
        });
        is_even
            && request.near.is_none()
            && request.segment.is_none()
            && request.tasks_min.is_none()
            && job.together.is_none()
            && self.awaiting.is_empty()
            && !self.planned_starts.contains_key(&job.key)
    }
}
