//! One scheduling round.

use crate::decision::Decision;
use crate::snapshot::Snapshot;
use common::id::{JobKey, NodeName};
use common::node::Inventory;
use common::queue::Queue;
use common::reason::WaitReason;
use common::resource::Request;
use common::time::Time;
use serde::{Deserialize, Serialize};

/// What a round came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Round {
    /// What to do, in this order. Together they fit: the judge (`check`) has no complaint.
    pub decisions: Vec<Decision>,
    /// Every waiting job in the order in which it was considered; the first is position 1.
    pub order: Vec<JobKey>,
    /// Every waiting job that does not start, in the same order, and why.
    pub reasons: Vec<(JobKey, WaitReason)>,
}

/// Decides which waiting jobs start now, and where.
#[must_use]
pub fn schedule(snapshot: &Snapshot, now: Time) -> Round {
    let _ = (snapshot, now);
    Round::default()
}

/// Could these nodes hold this request if all were up and idle? For refusing a job when it is
/// submitted; with no nodes at all, nothing is known and nothing is refused.
///
/// # Errors
/// [`WaitReason::NeverFits`], in numbers.
pub fn could_ever_fit<'a>(
    nodes: impl IntoIterator<Item = (&'a NodeName, &'a Inventory)>,
    queue: &Queue,
    request: &Request,
) -> Result<(), WaitReason> {
    let _ = (nodes.into_iter().count(), queue, request);
    Ok(())
}
