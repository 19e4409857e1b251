//! Limits and quotas for one job, given the running jobs.
//!
//! Source: man sacctmgr, LIMITS; our own rule for quotas: docs/fairness.md.
//! Reads: what runs, and the limits and quotas of the policy.

use crate::model::claims::of_shape;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::snapshot::Snapshot;
use common::reason::WaitReason;
use common::time::Time;
use std::sync::Arc;

/// Why limits or quotas do not admit a job at this time, given the running jobs. `None`: it is
/// admitted.
pub(crate) fn admission_refusal(
    snapshot: &Snapshot,
    job: &WaitingJob,
    now: Time,
) -> Option<WaitReason> {
    if !snapshot.has_bounds {
        return None;
    }
    let queue = snapshot.policy.queues.iter().find(|queue| queue.name == job.queue)?;
    let (cluster, policy) = (&snapshot.cluster, &snapshot.policy);
    let shape = Shape::new(cluster, policy, queue, &job.request, job.service, Arc::default());
    let (accounting, account) = (&snapshot.accounting, job.account.as_ref());
    let principal = accounting.known_principal(&job.queue, job.owner, account, job.qos.as_ref());
    let claim = of_shape(&shape, principal, accounting);
    accounting
        .check_limits(&claim, job.time_limit, now)
        .and_then(|()| accounting.admit(&claim).map(drop))
        .err()
}
