//! Jobs that would delay a planned start on any nodes, found without a trial.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::class::Class;
use crate::model::demand::Part;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::PlannedStart;
use crate::model::wait_queue::PartId;
use crate::place::backfill::delay_allowed::DelayAllowed;
use crate::place::backfill::shadow::Shadow;
use common::id::JobKey;
use common::policy::queue::Queue;
use common::resource::Resources;
use common::time::Time;
use common::unit::GpuMilli;
use std::sync::Arc;

impl RoundState<'_> {
    /// When a job that starts now is taken to end, as far as it may start ahead of planned starts:
    /// at its expected end if all of them allow that it ends by its time limit instead, otherwise
    /// by its time limit. Nodes that are kept for certain jobs or reservations allow no delay.
    pub(super) fn planned_end(&self, job: &WaitingJob) -> Time {
        let by_limit = self.ends_by(job.time_limit);
        let Some(expected) = job.expected.map(|expected| (self.now + expected).min(by_limit))
        else {
            return by_limit;
        };
        let allows = |(_, shadow): &(_, Shadow)| {
            by_limit <= shadow.at
                || (expected <= shadow.at
                    && shadow.delay.allows(expected, by_limit)
                    && self.bookings.last_before(shadow.delay.latest_end()).is_none())
        };
        let is_allowed =
            self.bookings.last_before(by_limit).is_none() && self.shadows.iter().all(allows);
        if is_allowed { expected } else { by_limit }
    }

    /// How much the start of this job may be delayed, which is planned for that time now.
    pub(super) fn delay_allowed(&self, queue: &Queue, job: &WaitingJob, at: Time) -> DelayAllowed {
        let before = self.snapshot.planned_starts.get(&job.key).map(PlannedStart::earliest_planned);
        DelayAllowed::of(queue, job, before.map_or(at, |before| before.min(at)))
    }

    /// The job with a planned start that a job of this shape would delay on any of these nodes, the
    /// only ones with room for it. `None`: a trial has to show that.
    ///
    /// A job that ends after the planned start needs nodes that the planned job does not count on,
    /// that hold both, or that the planned job can spare.
    pub(super) fn delayed_job(
        &mut self,
        id: PartId,
        job: &WaitingJob,
        index: ShapeIndex,
        nodes: &[NodeIndex],
    ) -> Option<JobKey> {
        let ends = self.planned_end(job);
        let shape = self.shapes.get(index);
        let needs = shape.node_count()?.0 as usize;
        let part = shape.demand.even_part(shape.node_count()?, 0);
        (0..self.shadows.len()).find_map(|which| {
            let shadow = &self.shadows[which].1;
            let (kept, spare) = shadow.part_and_spare().filter(|_| ends > shadow.at)?;
            let safe = self.count_safe_nodes(id, which, (index, part, kept), nodes);
            (safe < needs.saturating_sub(spare)).then_some(self.shadows[which].1.key)
        })
    }

    /// How many of these nodes, which are all that hold this part, the shadow does not count on, or
    /// hold both. Kept until the next decision unless bookings matter as well.
    fn count_safe_nodes(
        &mut self,
        id: PartId,
        which: usize,
        (index, part, kept): (ShapeIndex, Part, Part),
        nodes: &[NodeIndex],
    ) -> usize {
        let known = self.found_full.holding.get(&id).map_or(&[][..], |holding| &holding.safe);
        let is_plain = self.bookings.is_empty();
        if let Some((_, safe)) = known.iter().find(|(at, _)| *at == which).filter(|_| is_plain) {
            return *safe;
        }
        let (shape, shadow) = (self.shapes.get(index), &self.shadows[which].1);
        // Idle nodes of a class are equivalent.
        let mut of_idle: Vec<(&Arc<Class>, bool)> = Vec::new();
        let mut holds_both = |at: NodeIndex| {
            let class = &self.trial.cluster.node(at).class;
            let is_idle = is_plain && self.trial.free(at).is_idle();
            let known = of_idle.iter().filter(|_| is_idle).find(|(of, _)| Arc::ptr_eq(of, class));
            if let Some((_, both)) = known {
                return *both;
            }
            let both = self.holds_both(at, (shape, part), (shadow, kept));
            if is_idle {
                of_idle.push((class, both));
            }
            both
        };
        let is_safe = |at: &&NodeIndex| !shadow.counts_on(**at) || holds_both(**at);
        let safe = nodes.iter().filter(is_safe).count();
        if let Some(holding) = self.found_full.holding.get_mut(&id).filter(|_| is_plain) {
            holding.safe.push((which, safe));
        }
        safe
    }

    /// Whether a node may have room for both parts at the planned start, by their sums.
    fn holds_both(
        &self,
        at: NodeIndex,
        (shape, part): (&Shape<'_>, Part),
        (shadow, kept): (&Shadow, Part),
    ) -> bool {
        let class = &self.trial.cluster.node(at).class;
        let own = shape.demand.usage_on_class(part, class);
        let kept =
            self.shapes.get(shadow.shape).with_fewest_tasks().demand.usage_on_class(kept, class);
        let then = self.bookings.tally(&self.trial, at, shadow.at, self.now);
        let shares = own.milli > GpuMilli::ZERO || kept.milli > GpuMilli::ZERO;
        let both = own.resources.plus(kept.resources);
        let gpus = then.whole_gpus().filter(|_| !shares).unwrap_or(both.gpus);
        !(own.whole_node || kept.whole_node)
            && both.fits_in(&Resources { cpus: then.cpus, memory: then.memory, gpus })
    }
}
