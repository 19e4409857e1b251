//! The planned start of a job from the times at which each node will have room for its part. They
//! are kept from round to round, so that a round asks only the nodes that changed.

use super::RoundState;
use super::full::has_one_part;
use super::reserve::Found;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::place::backfill::earliest::{Size, Window};
use crate::place::backfill::ready_times::earliest_with;

impl RoundState<'_> {
    /// When and where a job will have room. `None`: the times are not kept for such a job.
    pub(super) fn earliest_known(
        &mut self,
        job: &WaitingJob,
        index: ShapeIndex,
        window: Window,
    ) -> Option<Option<Found>> {
        let shape = self.shapes.get(index);
        let [side] = shape.sides()[..] else { return None };
        let search = self.node_search_of(job, shape, side, &[]);
        let is_plain = self.snapshot.is_silent
            && search.is_unreserved()
            && job.request.per_node_max().is_none()
            && has_one_part(job, shape);
        if !is_plain {
            return None;
        }
        let queue = &self.snapshot.wait_queue;
        let kind = queue.kind_of(queue.class(queue.class_of(job.key)?)?.kind)?;
        let nodes = shape.node_count()?;
        let size = Size { part: shape.demand.even_part(nodes, 0), need: nodes.0 };
        let known = self.snapshot.full.ready(kind.part);
        let mut asked = self.found_full.ready.get(&kind.part).cloned().unwrap_or_default();
        let found = earliest_with(&search, size, window, (known, &mut asked));
        self.found_full.ready.insert(kind.part, asked);
        Some(found.map(|found| (found, side)))
    }
}
