//! Whether a job could ever run on these nodes and within quotas and limits, for refusing it at
//! submission.

use crate::books::{Books, Claim};
use crate::claims::of_asking;
use crate::shape::Shape;
use crate::snapshot::{Snapshot, WaitingJob};
use crate::wait::{could_be_near, could_fit};
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
    let floor = &snapshot.floor;
    if floor.len() == 0 {
        return Ok(());
    }
    let shape = Shape::new(floor, &snapshot.policy, queue, request, service, Arc::default());
    could_fit(floor, &shape, &shape.sizes(floor))
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
    let floor = &snapshot.floor;
    let shape = Shape::new(floor, &snapshot.policy, queue, request, service, Arc::default());
    could_be_near(floor, &shape)
}

/// The snapshot with its nodes in groups. Before the first round they are not.
pub(crate) fn laid_out(snapshot: &Snapshot) -> Cow<'_, Snapshot> {
    if snapshot.floor.is_laid_out() {
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
        let (floor, policy) = (&snapshot.floor, &self.policy);
        let shape = Shape::new(floor, policy, queue, &job.request, job.service, Arc::default());
        let books = snapshot.books_alone.clone();
        let refused = refused_alone(books, [(job, &shape, None)].into_iter());
        let refused = refused.map(|reason| match reason {
            // No queue can ever lend more than that.
            WaitReason::QuotaExceeded { queue, bound: QuotaBound::Lent { owed }, counted }
                if floor.len() > 0 =>
            {
                WaitReason::QuotaExceeded { queue, bound: QuotaBound::AtMost { owed }, counted }
            }
            other => other,
        });
        refused.filter(WaitReason::is_for_ever).map_or(Ok(()), Err)
    }

    /// The books as if nothing ran.
    pub(crate) fn empty_books(&self) -> Books {
        Books::new(&self.policy, &self.capacity)
    }
}

/// Why quotas and limits keep these jobs from starting together even if nothing else runs. `books`
/// are empty books. Each job may come with its claim, if that is known.
pub(crate) fn refused_alone<'j, 's: 'j>(
    mut books: Books,
    jobs: impl Iterator<Item = (&'j WaitingJob, &'j Shape<'s>, Option<&'j Claim>)>,
) -> Option<WaitReason> {
    let start = Time(0);
    for (job, shape, known) in jobs {
        let party = books.party(&job.queue, job.owner, job.account.as_ref(), job.qos.as_ref());
        let mut claim = known.cloned().unwrap_or_else(|| of_asking(shape, party, &books));
        claim.who = party;
        let limits = books.check_limits(&claim, job.time_limit, start);
        if let Err(reason) = limits.and_then(|()| books.admit(&claim)) {
            return Some(reason);
        }
        books.add(&claim, job.time_limit.map(|limit| start + limit));
    }
    None
}
