//! Whether a job could ever run on these nodes and within quotas and limits, for refusing it at
//! submission.

use crate::model::claims::of_asking;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::snapshot::Snapshot;
use crate::model::usage_accounting::{Claim, UsageAccounting};
use crate::place::idle_fit::{could_be_near, could_fit};
use common::policy::queue::Queue;
use common::reason::{QuotaBound, WaitReason};
use common::resource::Request;
use common::time::Time;
use std::borrow::Cow;
use std::sync::Arc;

/// Whether the nodes could hold this request if all were up and idle. With no nodes at all, nothing
/// is known and nothing is refused.
///
/// # Errors
/// [`WaitReason::NeverFits`], in numbers.
pub fn could_ever_fit(
    snapshot: &Snapshot,
    queue: &Queue,
    request: &Request,
    service: bool,
) -> Result<(), WaitReason> {
    let snapshot = laid_out(snapshot);
    let cluster = &snapshot.cluster;
    if cluster.len() == 0 {
        return Ok(());
    }
    let shape = Shape::new(cluster, &snapshot.policy, queue, request, service, Arc::default());
    could_fit(cluster, &shape, &shape.sizes(cluster))
}

/// Whether nodes near enough to each other could hold this request if all were up and idle. For
/// requests that [`could_ever_fit`] accepts, and where the network is described.
///
/// # Errors
/// [`WaitReason::NeverNear`], in numbers.
pub fn could_ever_be_near(
    snapshot: &Snapshot,
    queue: &Queue,
    request: &Request,
    service: bool,
) -> Result<(), WaitReason> {
    let snapshot = laid_out(snapshot);
    let cluster = &snapshot.cluster;
    let shape = Shape::new(cluster, &snapshot.policy, queue, request, service, Arc::default());
    could_be_near(cluster, &shape)
}

/// The snapshot with its nodes in groups. Before the first round they are not.
pub(crate) fn laid_out(snapshot: &Snapshot) -> Cow<'_, Snapshot> {
    if snapshot.cluster.is_laid_out() {
        return Cow::Borrowed(snapshot);
    }
    let mut settled = snapshot.clone();
    settled.settle(Time(0));
    Cow::Owned(settled)
}

impl Snapshot {
    /// Whether quotas and limits would let this job start if nothing else ran and all nodes were
    /// up. With no nodes at all, what a queue may borrow is not known, and nothing is refused for
    /// that.
    ///
    /// # Errors
    /// The [`WaitReason`], which holds for ever ([`WaitReason::is_for_ever`]), in numbers.
    pub fn could_ever_be_admitted(&self, job: &WaitingJob) -> Result<(), WaitReason> {
        let Some(queue) = self.policy.queues.iter().find(|queue| queue.name == job.queue) else {
            return Ok(());
        };
        let snapshot = laid_out(self);
        let (cluster, policy) = (&snapshot.cluster, &self.policy);
        let shape = Shape::new(cluster, policy, queue, &job.request, job.service, Arc::default());
        let accounting = snapshot.accounting_alone.clone();
        let refused = refused_alone(accounting, [(job, &shape, None)].into_iter());
        let refused = refused.map(|reason| match reason {
            // No queue can ever lend more than that.
            WaitReason::QuotaExceeded { queue, bound: QuotaBound::Lent { owed }, counted }
                if cluster.len() > 0 =>
            {
                WaitReason::QuotaExceeded { queue, bound: QuotaBound::AtMost { owed }, counted }
            }
            other => other,
        });
        refused.filter(WaitReason::is_for_ever).map_or(Ok(()), Err)
    }

    /// The usage accounting as if nothing ran.
    pub(crate) fn empty_usage_accounting(&self) -> UsageAccounting {
        UsageAccounting::new(&self.policy, &self.capacity)
    }
}

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
        let mut claim = known.cloned().unwrap_or_else(|| of_asking(shape, principal, &accounting));
        claim.who = principal;
        let limits = accounting.check_limits(&claim, job.time_limit, start);
        if let Err(reason) = limits.and_then(|()| accounting.admit(&claim)) {
            return Some(reason);
        }
        accounting.add(&claim, job.time_limit.map(|limit| start + limit));
    }
    None
}
