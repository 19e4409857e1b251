//! Whether a job could ever run here, by the nodes and by what quotas and limits allow, for refusing
//! it when it is submitted. Never looks at what is free.

use crate::books::Books;
use crate::shape::Shape;
use crate::snapshot::{Snapshot, WaitingJob};
use crate::wait::could_fit;
use common::queue::Queue;
use common::reason::WaitReason;
use common::resource::Request;
use common::time::Time;
use common::unit::Nodes;
use std::rc::Rc;

/// Could the nodes hold this request if all were up and idle? With no nodes at all, nothing is
/// known and nothing is refused.
///
/// # Errors
/// [`WaitReason::NeverFits`], in numbers.
pub fn could_ever_fit(
    snapshot: &Snapshot,
    queue: &Queue,
    request: &Request,
    service: bool,
) -> Result<(), WaitReason> {
    let mut settled;
    let mut snapshot = snapshot;
    if !snapshot.floor.is_laid_out() {
        settled = snapshot.clone();
        settled.settle(Time(0));
        snapshot = &settled;
    }
    let floor = &snapshot.floor;
    if floor.len() == 0 {
        return Ok(());
    }
    let shape = Shape::new(floor, &snapshot.policy, queue, request, service, Rc::default());
    could_fit(floor, &shape, &shape.sizes(floor))
}

impl Snapshot {
    /// Would quotas and limits let this job start if nothing else ran?
    ///
    /// # Errors
    /// The [`WaitReason`] that is for ever ([`WaitReason::is_for_ever`]), in numbers.
    pub fn could_ever_be_admitted(&self, job: &WaitingJob) -> Result<(), WaitReason> {
        let Some(queue) = self.policy.queues.iter().find(|queue| queue.name == job.queue) else {
            return Ok(());
        };
        let shape =
            Shape::new(&self.floor, &self.policy, queue, &job.request, job.service, Rc::default());
        let demand = match job.request.tasks_min {
            Some(tasks) => shape.demand.with_tasks(tasks),
            None => shape.demand,
        };
        let mut books = Books::new(&self.policy, &self.capacity);
        let party = books.party(&job.queue, job.owner, job.account.as_ref(), job.qos.as_ref());
        let nodes = shape.nodes().unwrap_or(Nodes(1));
        let claim = crate::claims::of_waiting(&demand, nodes, party, &books);
        let admitted = books
            .check_limits(&claim, job.time_limit, Time(0))
            .and_then(|()| books.admit(&claim).map(drop));
        admitted.or_else(|reason| if reason.is_for_ever() { Err(reason) } else { Ok(()) })
    }
}
