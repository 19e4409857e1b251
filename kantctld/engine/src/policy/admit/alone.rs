//! Whether jobs would start if nothing else ran: quotas and limits alone.
//!
//! Source: ours; a job that its quota or limit can never admit should say so, and not wait.

use crate::model::claims::of_shape;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::usage_accounting::{Claim, UsageAccounting};
use common::reason::WaitReason;
use common::time::Time;

/// Why quotas and limits keep these jobs from starting together even if nothing else runs.
/// `accounting` is empty. Each job may come with its claim, if that is known.
pub(crate) fn refused_alone<'j, 's: 'j>(
    mut accounting: UsageAccounting,
    jobs: impl Iterator<Item = (&'j WaitingJob, &'j Shape<'s>, Option<&'j Claim>)>,
) -> Option<WaitReason> {
    let start = Time(0);
    for (job, shape, known) in jobs {
        let principal =
            accounting.principal(&job.queue, job.owner, job.account.as_ref(), job.qos.as_ref());
        let mut claim = known.cloned().unwrap_or_else(|| of_shape(shape, principal, &accounting));
        claim.who = principal;
        let limits = accounting.check_limits(&claim, job.time_limit, start);
        if let Err(reason) = limits.and_then(|()| accounting.admit(&claim)) {
            return Some(reason);
        }
        accounting.add(&claim, job.time_limit.map(|limit| start + limit));
    }
    None
}
