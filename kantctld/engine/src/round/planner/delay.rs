//! Jobs that would delay a planned start on any nodes, found without a trial.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::place::backfill::shadow::Shadow;
use common::id::JobKey;
use common::resource::Resources;
use common::unit::GpuMilli;

impl RoundState<'_> {
    /// The job with a planned start that a job of this shape would delay on any of these nodes, the
    /// only ones with room for it. `None`: a trial has to show that.
    ///
    /// A job that ends after the planned start needs nodes that the planned job does not count on,
    /// that hold both, or that the planned job can spare.
    pub(super) fn delays(
        &self,
        job: &WaitingJob,
        index: ShapeIndex,
        nodes: &[NodeIndex],
    ) -> Option<JobKey> {
        let ends = self.ends_by(job.time_limit);
        let shape = self.shapes.get(index);
        let needs = shape.nodes()?.0 as usize;
        let part = shape.demand.even_part(shape.nodes()?, 0);
        let shadows = self.shadows.iter().map(|(_, shadow)| shadow);
        let mut later = shadows.filter(|shadow| ends > shadow.at);
        let delayed = later.find(|shadow| {
            let Some((kept, spare)) = shadow.part_and_spare() else { return false };
            let is_safe = |at: &&NodeIndex| {
                !shadow.counts_on(**at) || self.holds_both(**at, (shape, part), (shadow, kept))
            };
            let enough = needs.saturating_sub(spare);
            nodes.iter().filter(is_safe).take(enough).count() < enough
        });
        delayed.map(|shadow| shadow.key)
    }

    /// Whether a node may have room for both parts at the planned start, by their sums.
    fn holds_both(
        &self,
        at: NodeIndex,
        (shape, part): (&Shape<'_>, Part),
        (shadow, kept): (&Shadow, Part),
    ) -> bool {
        let class = &self.trial.cluster.node(at).class;
        let own = shape.demand.takes(part, class);
        let kept = self.shapes.get(shadow.shape).fewest().demand.takes(kept, class);
        let then = self.bookings.tally(&self.trial, at, shadow.at, self.now);
        let shares = own.milli > GpuMilli::ZERO || kept.milli > GpuMilli::ZERO;
        let both = own.resources.plus(kept.resources);
        let gpus = then.whole_gpus().filter(|_| !shares).unwrap_or(both.gpus);
        !(own.whole_node || kept.whole_node)
            && both.fits_in(&Resources { cpus: then.cpus, memory: then.memory, gpus })
    }
}
