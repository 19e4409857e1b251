//! Step 2: who may start at all now: the static rules, limits and quota. Never looks at what is
//! free.

use super::Desk;
use crate::admit;
use crate::books::{Books, Claim, Party, Standing};
use crate::shape::{Shape, ShapeIndex};
use crate::snapshot::{Snapshot, WaitingJob};
use common::reason::{WaitReason, What};
use common::time::Span;
use common::unit::Nodes;
use std::rc::Rc;

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
        let claim = claim_of(job, self.shapes.get(shape), party, &self.books);
        if let Err(reason) = self.books.check_limits(&claim, job.time_limit, self.now) {
            // A shorter job of its class may be within a bound on GPU-minutes, and as time goes by
            // so may this one.
            let is_own = matches!(&reason, WaitReason::LimitReached { counted, .. }
                if counted.what == What::GpuMinutes);
            if is_own {
                self.look_again(Some(self.now + Span::from_minutes(1)));
            }
            return Err(if is_own { Refused::Job(reason) } else { Refused::Class(reason) });
        }
        self.books.admit(&claim).map_err(Refused::Class)
    }
}

/// What a waiting job asks for; an elastic one at least.
pub(super) fn claim_of(job: &WaitingJob, shape: &Shape<'_>, party: Party, books: &Books) -> Claim {
    let nodes = shape.nodes().unwrap_or(Nodes(1));
    let demand = match job.request.tasks_min {
        Some(tasks) => shape.demand.with_tasks(tasks),
        None => shape.demand,
    };
    crate::claims::of_waiting(&demand, nodes, party, books)
}

/// Why a job is not admitted by limits or quota, beside the jobs that run; `None`: it is.
pub(crate) fn not_admitted(snapshot: &Snapshot, job: &WaitingJob) -> Option<WaitReason> {
    if !snapshot.has_bounds {
        return None;
    }
    let queue = snapshot.policy.queues.iter().find(|queue| queue.name == job.queue)?;
    let (floor, policy) = (&snapshot.floor, &snapshot.policy);
    let shape = Shape::new(floor, policy, queue, &job.request, job.service, Rc::default());
    let (books, account) = (&snapshot.books, job.account.as_ref());
    let party = books.known_party(&job.queue, job.owner, account, job.qos.as_ref());
    let claim = claim_of(job, &shape, party, books);
    let now = snapshot.ranked_at.unwrap_or_default();
    books
        .check_limits(&claim, job.time_limit, now)
        .and_then(|()| books.admit(&claim).map(drop))
        .err()
}

/// Why a job is not admitted: for a reason of its own, or of all of its class.
pub(crate) enum Refused {
    /// Its own.
    Job(WaitReason),
    /// Of all alike.
    Class(WaitReason),
}
