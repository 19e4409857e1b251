//! Step 2: which jobs may start at all now, whatever is free. One rule a file, asked in the order
//! below; the first that says no gives the reason. Quotas and limits are `books`. Held jobs and
//! those whose time has not come never get here: they are parked (`line`). Never looks at free
//! resources.

mod array_limit;
mod deadline;
mod reservation;

pub(crate) use array_limit::Arrays;

use crate::desk::Refused;
use crate::snapshot::{Snapshot, WaitingJob};
use common::time::Time;

/// May this job start now?
///
/// # Errors
/// Why not.
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
