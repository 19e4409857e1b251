//! What the last round found full, held against what came free since. Never counts what is kept for
//! others: that only takes room away.

use super::Desk;
use crate::backfill::bookings::Bookings;
use crate::fit::hall::Hall;
use crate::line::KindId;
use crate::shape::{Shape, ShapeIndex};
use crate::snapshot::WaitingJob;

impl Desk<'_> {
    /// Is it known from the last round that a job of this kind has no room?
    pub(super) fn is_still_full(&self, kind: KindId, job: &WaitingJob, index: ShapeIndex) -> bool {
        let shape = self.shapes.get(index);
        let snapshot = self.snapshot;
        if !snapshot.full.0.contains(&kind) || !self.counts_nodes(job, shape) {
            return false;
        }
        let nothing = Bookings::default();
        let part = shape.demand.even_part(shape.nodes().unwrap_or_default(), 0);
        !shape.sides().into_iter().any(|side| {
            let hall = self.hall_of(job, shape, side, &[]);
            let hall = Hall { bookings: &nothing, reservation: None, ..hall };
            snapshot.came_free.iter().any(|at| hall.holds(*at, part))
        })
    }

    /// A job of this kind had no room, and would have none if nothing were kept for others.
    pub(super) fn is_full(&mut self, kind: KindId, job: &WaitingJob, index: ShapeIndex) {
        if self.counts_nodes(job, self.shapes.get(index)) {
            self.kinds_full.0.insert(kind);
        }
    }

    /// Has it room wherever enough nodes have room for one and the same part, and does nobody hold
    /// any but those who run?
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
            && !self.promises.contains_key(&job.key)
    }
}
