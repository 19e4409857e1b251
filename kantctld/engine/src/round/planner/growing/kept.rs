//! Capacity reserved for waiting jobs, which growing jobs must not take.

use super::super::RoundState;
use super::Grower;
use crate::model::cluster::NodeIndex;
use crate::model::decision::Decision;
use crate::model::demand::Part;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::wait_queue::Class;
use crate::policy::admit::admission_refusal;
use common::id::{JobKey, QueueName};
use common::reason::{Bound, WaitReason};
use common::time::Time;
use common::unit::Tasks;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most jobs of a class whose reasons are examined. Beyond that, the rest is assumed to wait
/// for room.
const ASKED_MAX: usize = 8;

/// A job that waits for a limit or quota, and which one if that is known.
type Kin<'a> = (&'a Arc<WaitingJob>, Option<Bound>);

/// Capacity reserved for waiting jobs.
#[derive(Default)]
pub(super) struct Kept<'a> {
    all: bool,
    /// The shapes of jobs that wait for room.
    shapes: BTreeSet<ShapeIndex>,
    kin: Vec<Kin<'a>>,
    /// Promised nodes, and from when on; from now on if jobs are preempted for them.
    nodes: BTreeMap<NodeIndex, Time>,
}

/// How a waiting job keeps others from growing.
enum Keeps {
    Nothing,
    Room,
    Bound(Option<Bound>),
    Both,
}

impl<'a> RoundState<'a> {
    /// Marks the nodes that waiting jobs keep from this job. Returns false if no node is left.
    pub(super) fn mark_nodes_kept_by_others(
        &self,
        grower: &mut Grower<'_>,
        kept: &Kept<'_>,
    ) -> bool {
        let job = grower.job;
        if kept.all || kept.kin.iter().any(|waits| self.count_for_same_bound(job, waits)) {
            return false;
        }
        let cluster = self.trial.cluster;
        for which in &kept.shapes {
            let shape = self.shapes.get(*which).with_fewest_tasks();
            let part = smallest(&shape);
            for (at, node) in cluster.nodes() {
                let off = &mut grower.off[at.at()];
                *off =
                    *off || shape.may_ever_use(cluster, at) && shape.fits_idle(&node.class, part);
            }
        }
        for (at, from) in &kept.nodes {
            grower.off[at.at()] |= grower.ends > *from;
        }
        grower.off.iter().any(|off| !off)
    }

    /// The queue and its ancestors.
    fn queues_of(&self, name: &QueueName) -> Vec<&'a QueueName> {
        let mut path = Vec::new();
        let mut next = self.queues.get(name);
        while let Some(queue) = next.filter(|queue| !path.contains(&&queue.name)) {
            path.push(&queue.name);
            next = queue.parent.as_ref().and_then(|above| self.queues.get(above));
        }
        path
    }

    /// Whether the running job counts against the limit for which the other waits; against any that
    /// both share, if the limit is not known.
    fn count_for_same_bound(&self, job: &RunningJob, (waits, bound): &Kin) -> bool {
        let own = self.queues_of(&job.queue);
        let is_same = job.owner == waits.owner;
        match bound {
            Some(Bound::Queue(queue) | Bound::AccountInQueue(_, queue)) => own.contains(&queue),
            Some(Bound::UserInQueue(_, queue)) => is_same && own.contains(&queue),
            Some(Bound::Qos(qos)) => job.qos.as_ref() == Some(qos),
            Some(Bound::UserInQos(_, qos)) => is_same && job.qos.as_ref() == Some(qos),
            // Also if its account differs.
            Some(Bound::Account(_)) => job.account.is_some(),
            Some(Bound::UserInAccount(..)) => is_same && job.account.is_some(),
            None => {
                let other = self.queues_of(&waits.queue);
                is_same
                    || own.iter().any(|queue| other.contains(queue))
                    || job.account.is_some() && job.account == waits.account
                    || job.qos.is_some() && job.qos == waits.qos
            }
        }
    }

    /// What is reserved for jobs that still wait.
    pub(super) fn kept_by_waiting(&mut self) -> Kept<'a> {
        let mut kept = Kept::default();
        let snapshot = self.snapshot;
        let started: BTreeSet<JobKey> = self
            .decisions
            .iter()
            .filter_map(|decision| match decision {
                Decision::Start { key, .. } => Some(*key),
                _ => None,
            })
            .collect();
        for (key, planned_start) in &self.planned_starts {
            let from = if planned_start.yielded { self.now } else { planned_start.at };
            for at in planned_start.nodes.iter().filter_map(|name| self.trial.cluster.find(name)) {
                let known = kept.nodes.entry(at).or_insert(from);
                *known = from.min(*known);
            }
            debug_assert!(!started.contains(key), "{key} starts, and is promised to");
        }
        for (_, class) in snapshot.wait_queue.classes() {
            let Some(job) = self.job_waiting_for_room(class, &started, &mut kept.kin) else {
                continue;
            };
            kept.all |= snapshot.policy.fair_sharing;
            match self.queues.get(&job.queue) {
                Some(queue) => _ = kept.shapes.insert(self.shape_of(queue, job)),
                None => kept.all = true,
            }
        }
        kept
    }

    /// A job of this class that waits for room, among those that did not start and have no certain
    /// nodes kept for them. Adds those that wait for a limit or quota to `kin`.
    fn job_waiting_for_room(
        &self,
        class: &'a Class,
        started: &BTreeSet<JobKey>,
        kin: &mut Vec<Kin<'a>>,
    ) -> Option<&'a Arc<WaitingJob>> {
        let is_fair = self.snapshot.policy.fair_sharing;
        let is_sure = |key: JobKey| {
            // With fair sharing, it may still take back what others hold beyond their share.
            if is_fair {
                return false;
            }
            let planned_start =
                self.planned_starts.get(&key).filter(|_| !self.unmet.contains(&key));
            planned_start.is_some_and(|planned_start| !planned_start.nodes.is_empty())
        };
        let is_left = |job: &&Arc<WaitingJob>| !started.contains(&job.key) && !is_sure(job.key);
        let (mut room, before) = (None, kin.len());
        for (asked, job) in class.jobs().filter(is_left).enumerate() {
            let is_unknown = room.is_none() && kin.len() == before;
            let keeps = match asked {
                ..ASKED_MAX => self.nodes_kept_by(job),
                _ if is_unknown => Keeps::Both,
                _ => break,
            };
            match &keeps {
                Keeps::Bound(bound) => kin.push((job, bound.clone())),
                Keeps::Both => kin.push((job, None)),
                Keeps::Nothing | Keeps::Room => {}
            }
            if matches!(keeps, Keeps::Room | Keeps::Both) {
                room = room.or(Some(job));
            }
            if asked >= ASKED_MAX {
                break;
            }
        }
        room
    }

    /// How one job keeps others from growing.
    fn nodes_kept_by(&self, job: &WaitingJob) -> Keeps {
        let is_fair = self.snapshot.policy.fair_sharing;
        // Whatever its reason, it waits for its victims.
        if self.yielders.contains_key(&job.key) {
            return Keeps::Both;
        }
        match self.waits.known_reason(self.snapshot, job.key) {
            None
            | Some(
                WaitReason::NotConsidered
                | WaitReason::NodesReserved { .. }
                | WaitReason::Topology { .. }
                | WaitReason::GroupPerNode { .. }
                | WaitReason::Preempting { .. }
                | WaitReason::Component { .. }
                | WaitReason::BehindHead { .. }
                | WaitReason::Priority { .. }
                | WaitReason::Resources { .. }
                | WaitReason::NodesUnavailable { .. },
            ) => match admission_refusal(self.snapshot, job, self.now) {
                // Its limits were not checked, since others of its kind have no room.
                Some(_) => Keeps::Both,
                None => Keeps::Room,
            },
            // A queue's share follows from what all jobs ask for.
            Some(WaitReason::QuotaExceeded { .. }) if is_fair => Keeps::Both,
            Some(reason) if reason.is_for_ever() => Keeps::Nothing,
            Some(WaitReason::QuotaExceeded { .. }) => Keeps::Bound(None),
            Some(WaitReason::LimitReached { bound, .. }) => Keeps::Bound(Some(bound.clone())),
            Some(_) => Keeps::Nothing,
        }
    }
}

/// The smallest part that a job of this shape has on a node.
fn smallest(shape: &Shape<'_>) -> Part {
    let demand = &shape.demand;
    shape.node_count().map_or_else(
        || demand.part(Tasks(1)),
        |nodes| demand.even_part(nodes, nodes.0.saturating_sub(1)),
    )
}
