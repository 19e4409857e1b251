//! Step 2: which jobs may start at all now, whatever is free. One rule a file, asked in the order
//! below; the first that says no gives the reason. Never looks at free resources.

mod array_limit;
mod held;
pub(crate) mod nodes;
mod not_before;

pub(crate) use array_limit::Arrays;

use crate::snapshot::WaitingJob;
use common::reason::WaitReason;
use common::time::Time;

/// May this job start now?
///
/// # Errors
/// Why not.
pub(crate) fn admit(job: &WaitingJob, arrays: &Arrays, now: Time) -> Result<(), WaitReason> {
    held::check(job)?;
    not_before::check(job, now)?;
    arrays.check(job)
}
