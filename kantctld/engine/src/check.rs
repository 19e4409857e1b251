//! The judge: a check that every decision of a round is allowed and that all of them fit together.
//! It uses only the snapshot's jobs, nodes and policy, and shares no code with what it checks. It
//! does not rate decisions: any place that the request allows is right.
//!
//! Where the snapshot is not enough to decide, the judge accepts the round: a promise may become
//! later when it depends on something that the snapshot does not show.

mod asked;
mod bounds;
mod dealt;
mod dues;
mod fair;
mod grown;
mod left;
mod moved;
mod near;
mod order;
mod outgrown;
mod planned_start;
mod static_rules;
mod yields;

use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::snapshot::Snapshot;
use crate::round::round_result::Round;
use bounds::Bounds;
use common::id::{JobId, JobKey, NodeName, QueueName, ZoneName};
use common::policy::queue::Queue;
use common::reason::WaitReason;
use common::resource::Allocation;
use common::time::Time;
use left::Left;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// One fault of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub key: JobKey,
    /// The fault, as the rest of a sentence that begins with the job.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {} {}", self.key, self.message)
    }
}

/// All faults of a round. The time it takes grows with the number of jobs.
#[must_use]
pub fn check(snapshot: &Snapshot, now: Time, round: &Round) -> Vec<Violation> {
    let mut judge = Judge::new(snapshot, now);
    judge.judge_decisions(&round.decisions);
    judge.check_strict_order(round);
    judge.check_planned_starts(round);
    judge.check_moves_make_room(round);
    judge.check_growth_harms_none(round);
    judge.check_growth_keeps_promise(round);
    judge.check_every_job_answered(round);
    judge.violations
}

/// The faults of the decisions, each by itself and all together, without their order and without
/// the other jobs' wait reasons. Costs nothing without decisions; otherwise it looks only at nodes
/// that they concern. It takes the jobs on those nodes from the snapshot's index, and what all
/// running jobs hold from the judge's ledger; [`check`] relies on neither.
#[must_use]
pub fn check_decisions(snapshot: &Snapshot, now: Time, decisions: &[Decision]) -> Vec<Violation> {
    let mut judge = Judge::new(snapshot, now);
    judge.sees_all = !snapshot.is_grouped();
    judge.judge_decisions(decisions);
    judge.violations
}

/// The faults of moves that are only proposed: which jobs move, whether all of them have a place,
/// and whether there is room for the job that they move for.
#[must_use]
pub(crate) fn check_moves(snapshot: &Snapshot, now: Time, round: &Round) -> Vec<Violation> {
    let mut judge = Judge::new(snapshot, now);
    judge.judge_decisions(&round.decisions);
    judge.check_moves_make_room(round);
    judge.violations
}

struct Judge<'a> {
    snapshot: &'a Snapshot,
    now: Time,
    /// Whether it looks at all nodes and running jobs, or only at those that decisions concern.
    sees_all: bool,
    queues: BTreeMap<&'a QueueName, &'a Queue>,
    /// Zones that some queue reserves for its services.
    zones: BTreeSet<&'a ZoneName>,
    started: BTreeSet<JobKey>,
    /// Those of them that start after the first preemption.
    starts_behind: BTreeSet<JobKey>,
    granted: BTreeMap<JobKey, &'a Allocation>,
    arrays: BTreeMap<JobId, u32>,
    /// What is left on the nodes seen so far.
    left: BTreeMap<NodeName, Left>,
    bounds: Bounds<'a>,
    /// What queues are entitled to under fair sharing, computed when first needed.
    dues: Option<fair::Dues>,
    /// The number of jobs moved.
    moved: u64,
    key: JobKey,
    violations: Vec<Violation>,
}

impl<'a> Judge<'a> {
    fn new(snapshot: &'a Snapshot, now: Time) -> Self {
        let policy = snapshot.policy();
        let queues: BTreeMap<_, _> = policy.queues.iter().map(|q| (&q.name, q)).collect();
        Self {
            snapshot,
            now,
            sees_all: true,
            zones: policy.queues.iter().filter_map(|queue| queue.zone.as_ref()).collect(),
            queues,
            started: BTreeSet::new(),
            starts_behind: BTreeSet::new(),
            granted: BTreeMap::new(),
            arrays: BTreeMap::new(),
            left: BTreeMap::new(),
            bounds: Bounds::new(policy, now),
            dues: None,
            moved: 0,
            key: JobKey::single(JobId(0)),
            violations: Vec::new(),
        }
    }

    fn fault(&mut self, what: impl Into<String>) {
        self.violations.push(Violation { key: self.key, message: what.into() });
    }

    fn require(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            self.fault(otherwise);
        }
    }

    fn judge_decisions(&mut self, decisions: &'a [Decision]) {
        if decisions.is_empty() {
            return;
        }
        if self.sees_all {
            self.subtract_running_jobs();
        } else {
            self.load_decided_nodes(decisions);
        }
        for decision in decisions {
            if let Decision::Start { key, attempt, allocation, group } = decision {
                self.key = *key;
                let Some(job) = self.snapshot.waiting_job(*key) else {
                    self.fault("starts but does not wait");
                    continue;
                };
                self.require(job.attempt == *attempt, "starts as another attempt");
                self.require(job.together == *group, "starts in another group than its own");
                let first = self.started.insert(*key);
                self.granted.insert(*key, allocation);
                self.require(first, "starts twice");
                self.check_start(job, allocation);
            }
        }
        self.check_components_together();
        self.check_growth_decisions(decisions);
        self.check_preemptions(decisions);
    }

    fn check_start(&mut self, job: &'a WaitingJob, allocation: &'a Allocation) {
        self.check_may_start(job);
        self.check_totals(job, allocation);
        self.check_same_switch(job, allocation);
        let Some(queue) = self.queues.get(&job.queue).copied() else {
            return self.fault("starts from a queue there is not");
        };
        for share in allocation.shares() {
            if let Some(left) = self.left.get(&share.node) {
                let node = left.node.clone();
                self.check_node_allowed(job, queue, share, &node);
                self.check_share(job, queue, share, &node);
                self.take(job, share);
                self.check_reserved_nodes(job, &share.node);
            } else {
                self.fault(format!("gets node {}, which there is not", share.node));
            }
        }
        self.check_firm_quota(job, allocation);
        let faults = self.bounds.add_start(job, allocation, &self.left);
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// Subtracts what running jobs hold from all nodes, and counts it for bounds.
    fn subtract_running_jobs(&mut self) {
        for node in self.snapshot.nodes() {
            self.left.insert(node.name.clone(), Left::of_idle_node(node));
        }
        for job in self.snapshot.all_running() {
            for share in job.allocation.shares() {
                if let Some(left) = self.left.get_mut(&share.node) {
                    left.subtract_held(share, job.whole_nodes, job.group.as_deref());
                }
            }
            self.bounds.add_running(job, &self.left);
            if job.key.index.is_some() {
                *self.arrays.entry(job.key.job).or_default() += 1;
            }
        }
        let capacity: Vec<&NodeSnapshot> = self.left.values().map(|left| &left.node).collect();
        self.bounds.add_capacity(&capacity);
    }

    /// The same, only for the nodes and arrays of these decisions.
    fn load_decided_nodes(&mut self, decisions: &[Decision]) {
        self.bounds.use_ledger(&self.snapshot.ledger);
        for decision in decisions {
            let (key, shares) = match decision {
                Decision::Start { key, allocation, .. } => (key, allocation.shares()),
                Decision::Grow { key, shares, .. } => (key, &shares[..]),
                Decision::Preempt { key, .. } | Decision::Shrink { key, .. } => {
                    let job = self.snapshot.running_job(*key);
                    (key, job.map_or(&[][..], |job| job.allocation.shares()))
                }
            };
            for share in shares {
                if !self.left.contains_key(&share.node) {
                    self.load_node(&share.node);
                }
            }
            if key.index.is_some() && !self.arrays.contains_key(&key.job) {
                let running = self.snapshot.running_of(key.job).count();
                self.arrays.insert(key.job, u32::try_from(running).unwrap_or(u32::MAX));
            }
        }
    }

    fn load_node(&mut self, name: &NodeName) {
        let Some((node, jobs)) = self.snapshot.node_and_jobs(name) else { return };
        let mut left = Left::of_idle_node(node);
        for job in jobs {
            for share in job.allocation.shares().iter().filter(|share| share.node == *name) {
                left.subtract_held(share, job.whole_nodes, job.group.as_deref());
            }
        }
        self.left.insert(name.clone(), left);
    }

    /// All components of a job start together, or none.
    fn check_components_together(&mut self) {
        let groups: BTreeSet<JobKey> = self
            .started
            .iter()
            .filter_map(|key| self.snapshot.waiting_job(*key).and_then(|job| job.together))
            .collect();
        if groups.is_empty() {
            return;
        }
        groups.iter().for_each(|first| self.check_components_same_switch(*first));
        let is_left = |job: &&Arc<WaitingJob>| {
            job.together.is_some_and(|first| groups.contains(&first))
                && !self.started.contains(&job.key)
        };
        let left: Vec<JobKey> =
            self.snapshot.all_waiting().filter(is_left).map(|job| job.key).collect();
        for key in left {
            self.key = key;
            self.fault("is left behind by the other components of its job");
        }
    }

    /// Every waiting job starts or has a wait reason, and none waits for itself.
    fn check_every_job_answered(&mut self, round: &Round) {
        let of = |job: &&Arc<WaitingJob>| {
            !self.started.contains(&job.key) && !round.waits.knows(self.snapshot, job.key)
        };
        let forgotten: Vec<JobKey> =
            self.snapshot.all_waiting().filter(of).map(|job| job.key).collect();
        for key in forgotten {
            self.key = key;
            self.fault("neither starts nor has a reason");
        }
        for job in self.snapshot.all_waiting() {
            if let Some(WaitReason::BehindHead { head }) =
                round.waits.reason_of(self.snapshot, job.key)
                && head == job.key
            {
                self.key = job.key;
                self.fault("waits for itself");
            }
        }
    }
}

#[cfg(test)]
mod tests;
