//! One scheduling round, in numbered steps. The first file to read in this crate.
//!
//! 1. Order    who is considered first                  `order`
//! 2. Admit    who may start at all now                 `admit`
//! 3. Fit      which nodes hold all of the job          `fit`
//! 4. Score    which of them is best, which GPUs, CPUs  `score`, `fit::cpus`
//! 5. Backfill who may pass the first without room      `backfill`
//! 6. Reasons  why each other job waits                 `wait`
//!
//! A round never takes longer than its bounds allow; they count trials, not seconds, so that a
//! saved snapshot gives the same round on any machine.

use crate::admit::{Arrays, admit, nodes::candidates};
use crate::backfill::endings::{Endings, ends_by};
use crate::backfill::shadow::Shadows;
use crate::cluster::{Cluster, Node};
use crate::decision::Decision;
use crate::free::Free;
use crate::order::priority::order;
use crate::outlook::{Outlook, Verdict};
use crate::place::{Placement, place};
use crate::shape::{Candidates, Shape, ShapeIndex, Shapes};
use crate::snapshot::{Snapshot, WaitingJob};
use crate::trial::Trial;
use crate::wait::Sight;
use common::id::{JobKey, NodeName, QueueName};
use common::node::Inventory;
use common::queue::Queue;
use common::reason::WaitReason;
use common::resource::Request;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;

/// So many searches for a place in one round; jobs after that are looked at in the next. Jobs
/// that are known not to fit, because one like them did not, cost none.
pub(crate) const TRIALS_MAX: u32 = 10_000;

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
    let cluster = Cluster::of(snapshot);
    let whole: Vec<Free> = snapshot.nodes.iter().map(|n| Free::whole(&n.inventory)).collect();
    let mut desk = Desk::new(snapshot, &cluster, &whole, now);

    // 1. Order.
    let jobs = order(snapshot);
    // 2 to 5, job by job: what one takes, the next does not see.
    let verdicts: Vec<(&WaitingJob, Verdict)> =
        jobs.iter().map(|job| (*job, desk.consider(job))).collect();
    // 6. Reasons.
    let sight = Sight { cluster: &cluster, whole: &whole };
    let outlook = Outlook::new(sight, &desk.shapes, &desk.shadows, &snapshot.queues, now);
    let reasons = outlook.reasons(&verdicts, &mut desk.trial, &desk.endings);
    Round { decisions: desk.decisions, order: jobs.iter().map(|job| job.key).collect(), reasons }
}

/// What lies on the desk while a round is worked out.
struct Desk<'a> {
    cluster: &'a Cluster<'a>,
    whole: &'a [Free],
    now: Time,
    queues: BTreeMap<&'a QueueName, &'a Queue>,
    trial: Trial,
    arrays: Arrays,
    shapes: Shapes<'a>,
    endings: Endings,
    shadows: Shadows<'a>,
    trials_left: u32,
    decisions: Vec<Decision>,
}

impl<'a> Desk<'a> {
    fn new(snapshot: &'a Snapshot, cluster: &'a Cluster<'a>, whole: &'a [Free], now: Time) -> Self {
        Self {
            cluster,
            whole,
            now,
            queues: snapshot.queues.iter().map(|queue| (&queue.name, queue)).collect(),
            trial: Trial::of(snapshot),
            arrays: Arrays::of(snapshot),
            shapes: Shapes::default(),
            endings: Endings::of(snapshot, now),
            shadows: Shadows::default(),
            trials_left: TRIALS_MAX,
            decisions: Vec::new(),
        }
    }

    /// Steps 2 to 5 for one job.
    fn consider(&mut self, job: &'a WaitingJob) -> Verdict {
        let Some(queue) = self.queues.get(&job.queue).copied() else {
            return Verdict::Waits(WaitReason::QueueGone { queue: job.queue.clone() });
        };
        // 2. Admit.
        if let Err(reason) = admit(job, &self.arrays, self.now) {
            return Verdict::Waits(reason);
        }
        if self.trials_left == 0 {
            return Verdict::Waits(WaitReason::NotConsidered);
        }
        // 3. Fit and 4. score, in what earlier jobs' shadows leave.
        let shape = self.shapes.of(self.cluster, self.whole, queue, job);
        match self.find_place(job, shape) {
            Some(placement) => self.start(job, placement),
            None => {
                // 5. Backfill.
                self.cast_shadow(job, shape);
                Verdict::NoRoom(shape)
            }
        }
    }

    fn find_place(&mut self, job: &WaitingJob, index: ShapeIndex) -> Option<Placement> {
        let ends = ends_by(self.now, job.time_limit);
        if self.shapes.get(index).cannot_fit(ends) {
            return None;
        }
        self.trials_left -= 1;
        let view = self.shadows.view(self.cluster, &self.trial, ends);
        let placement = place(self.cluster, &view, self.shapes.get(index));
        if placement.is_none() {
            self.shapes.get_mut(index).did_not_fit(ends);
        }
        placement
    }

    /// Gives the job all of its shares, or nothing.
    fn start(&mut self, job: &WaitingJob, placement: Placement) -> Verdict {
        let Ok(allocation) = placement.allocation() else {
            return Verdict::Waits(WaitReason::NotConsidered);
        };
        let checkpoint = self.trial.checkpoint();
        for (at, share) in &placement.shares {
            self.trial.take(self.cluster, *at, share);
        }
        self.trial.keep(checkpoint);
        self.arrays.count(job);
        self.endings.add(ends_by(self.now, job.time_limit), job.key, allocation.clone());
        self.decisions.push(Decision::Start { key: job.key, attempt: job.attempt, allocation });
        Verdict::Starts
    }

    /// The first job of a queue without room gets a shadow, if it will ever have room.
    fn cast_shadow(&mut self, job: &'a WaitingJob, index: ShapeIndex) {
        if self.shadows.has(&job.queue) || self.shapes.get(index).has_no_shadow {
            return;
        }
        let shape = self.shapes.get(index);
        let of = (&job.queue, job.key);
        let cast =
            self.shadows.cast(self.cluster, &mut self.trial, &self.endings, shape, of, self.now);
        self.shapes.get_mut(index).has_no_shadow = !cast;
    }
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
    let nodes = nodes.into_iter();
    let cluster =
        Cluster::new(nodes.map(|(name, inventory)| Node { name, inventory, usable: true }));
    let whole: Vec<Free> =
        cluster.indices().map(|at| Free::whole(cluster.node(at).inventory)).collect();
    if whole.is_empty() {
        return Ok(());
    }
    let all = candidates(&cluster, queue, request);
    let nodes = Rc::new(Candidates { usable: all.clone(), all });
    let shape = Shape::new(&cluster, &whole, nodes, queue, request);
    let sight = Sight { cluster: &cluster, whole: &whole };
    sight.why_never(&shape).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;
