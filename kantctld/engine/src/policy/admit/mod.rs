//! Step 2: which jobs may start at all now, whatever is free. One rule per file, checked in the
//! order below; the first that refuses gives the reason. Quotas and limits are in
//! `usage_accounting`. Held jobs and jobs before their begin time are parked in `wait_queue` and do
//! not reach this step.

mod alone;
mod array_limit;
mod bounds;
mod deadline;
mod reservation;

pub(crate) use alone::refused_alone;
pub(crate) use array_limit::Arrays;
pub(crate) use bounds::admission_refusal;

use crate::model::job::WaitingJob;
use crate::model::snapshot::Snapshot;
use common::reason::WaitReason;
use common::time::Time;

/// Why a job is not admitted: for a reason of its own, or one that applies to all of its class.
pub(crate) enum Refused {
    Job(WaitReason),
    Class(WaitReason),
}

/// Whether the job may start now.
///
/// # Errors
/// Why it may not.
pub(crate) fn admit(
    job: &WaitingJob,
    snapshot: &Snapshot,
    arrays: &Arrays,
    now: Time,
) -> Result<(), Refused> {
    arrays.check(job).map_err(Refused::Class)?;
    deadline::check(job, now).map_err(Refused::Job)?;
    reservation::check(job, snapshot, now).map_err(Refused::Job)
}
