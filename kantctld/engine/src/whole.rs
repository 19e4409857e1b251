//! Whether a job could ever run here, for refusing it when it is submitted. Never looks at what is
//! free.

use crate::shape::Shape;
use crate::snapshot::Snapshot;
use crate::wait::could_fit;
use common::queue::Queue;
use common::reason::WaitReason;
use common::resource::Request;
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
        settled.settle(common::time::Time(0));
        snapshot = &settled;
    }
    let floor = &snapshot.floor;
    if floor.len() == 0 {
        return Ok(());
    }
    let shape = Shape::new(floor, &snapshot.policy, queue, request, service, Rc::default());
    could_fit(floor, &shape, &shape.sizes(floor))
}
