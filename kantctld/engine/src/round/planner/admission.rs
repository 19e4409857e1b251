//! Step 2: which jobs may start at all now, by the static rules, limits and quotas.

use super::RoundState;
use crate::model::claims::of_shape;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::model::usage_accounting::{Claim, QuotaStatus};
use crate::policy::admit::{self, Refused};
use common::reason::{WaitReason, What};
use common::time::Span;

impl RoundState<'_> {
    /// Step 2: the static rules, limits and quotas.
    pub(super) fn admit(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
    ) -> Result<QuotaStatus, Refused> {
        let claim = self.admit_but_for_quota(job, shape)?;
        self.accounting.admit(&claim).map_err(Refused::Class)
    }

    /// The static rules and limits. Returns the job's claim.
    pub(super) fn admit_but_for_quota(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
    ) -> Result<Claim, Refused> {
        admit::admit(job, self.snapshot, &self.arrays, self.now)?;
        let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
        let principal = self.accounting.principal(&job.queue, job.owner, account, qos);
        let claim = of_shape(self.shapes.get(shape), principal, &self.accounting);
        if let Err(reason) = self.accounting.check_limits(&claim, job.time_limit, self.now) {
            // A shorter job of its class may be within a limit on GPU-minutes.
            let is_own = self.eases_with_time(&reason);
            return Err(if is_own { Refused::Job(reason) } else { Refused::Class(reason) });
        }
        Ok(claim)
    }

    /// Whether this is a limit on GPU-minutes. The job may be within it as time passes, so another
    /// round is scheduled for then.
    pub(super) fn eases_with_time(&mut self, reason: &WaitReason) -> bool {
        let eases = matches!(reason, WaitReason::LimitReached { counted, .. }
            if counted.what == What::GpuMinutes);
        if eases {
            self.schedule_next_round(Some(self.now + Span::from_minutes(1)));
        }
        eases
    }
}
