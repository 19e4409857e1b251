//! Whether a job could ever run on these nodes and within quotas and limits, for refusing it at
//! submission.

use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::snapshot::Snapshot;
use crate::place::idle_fit::{could_be_near, could_fit};
use crate::policy::admit::refused_alone;
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
    let snapshot = with_grouped_nodes(snapshot);
    let cluster = &snapshot.cluster;
    if cluster.len() == 0 {
        return Ok(());
    }
    let shape = Shape::new(cluster, &snapshot.policy, queue, request, service, Arc::default());
    could_fit(cluster, &shape, &shape.usable_nodes_by_class(cluster))
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
    let snapshot = with_grouped_nodes(snapshot);
    let cluster = &snapshot.cluster;
    let shape = Shape::new(cluster, &snapshot.policy, queue, request, service, Arc::default());
    could_be_near(cluster, &shape)
}

/// The snapshot with its nodes in groups. Before the first round they are not.
pub(crate) fn with_grouped_nodes(snapshot: &Snapshot) -> Cow<'_, Snapshot> {
    if snapshot.cluster.is_grouped() {
        return Cow::Borrowed(snapshot);
    }
    let mut settled = snapshot.clone();
    settled.prepare_for_round(Time(0));
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
        let snapshot = with_grouped_nodes(self);
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
}
