//! Step 2: which jobs may start at all now, by the static rules, limits and quotas.

use super::Desk;
use crate::admit;
use crate::books::Standing;
use crate::claims::of_asking;
use crate::shape::{Shape, ShapeIndex};
use crate::snapshot::{Snapshot, WaitingJob};
use common::reason::{WaitReason, What};
use common::time::{Span, Time};
use std::sync::Arc;

impl Desk<'_> {
    /// Step 2: the static rules.
    pub(super) fn admit(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
    ) -> Result<Standing, Refused> {
        admit::admit(job, self.snapshot, &self.arrays, self.now)?;
        let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
        let party = self.books.party(&job.queue, job.owner, account, qos);
        let claim = of_asking(self.shapes.get(shape), party, &self.books);
        if let Err(reason) = self.books.check_limits(&claim, job.time_limit, self.now) {
            // A shorter job of its class may be within a limit on GPU-minutes.
            let is_own = self.eases_with_time(&reason);
            return Err(if is_own { Refused::Job(reason) } else { Refused::Class(reason) });
        }
        self.books.admit(&claim).map_err(Refused::Class)
    }

    /// Whether this is a limit on GPU-minutes. The job may be within it as time passes, so another
    /// round is scheduled for then.
    pub(super) fn eases_with_time(&mut self, reason: &WaitReason) -> bool {
        let eases = matches!(reason, WaitReason::LimitReached { counted, .. }
            if counted.what == What::GpuMinutes);
        if eases {
            self.look_again(Some(self.now + Span::from_minutes(1)));
        }
        eases
    }
}

/// Why limits or quotas do not admit a job at this time, given the running jobs. `None`: it is
/// admitted.
pub(crate) fn not_admitted(snapshot: &Snapshot, job: &WaitingJob, now: Time) -> Option<WaitReason> {
    if !snapshot.has_bounds {
        return None;
    }
    let queue = snapshot.policy.queues.iter().find(|queue| queue.name == job.queue)?;
    let (floor, policy) = (&snapshot.floor, &snapshot.policy);
    let shape = Shape::new(floor, policy, queue, &job.request, job.service, Arc::default());
    let (books, account) = (&snapshot.books, job.account.as_ref());
    let party = books.known_party(&job.queue, job.owner, account, job.qos.as_ref());
    let claim = of_asking(&shape, party, books);
    books
        .check_limits(&claim, job.time_limit, now)
        .and_then(|()| books.admit(&claim).map(drop))
        .err()
}

/// Why a job is not admitted: for a reason of its own, or one that applies to all of its class.
pub(crate) enum Refused {
    Job(WaitReason),
    Class(WaitReason),
}
