//! The stored form of a job: one record for each submission, with one element for a single job, or
//! one for each array task. A waiting element takes a few dozen bytes. Only `lifecycle` changes the
//! phase, and only along `common::job::state::TRANSITIONS`.

mod elements;
mod end;
mod joining;
mod last_rank;
mod leaving;
mod past;
mod record;
mod share_phase;
mod term_state;

pub use elements::Elements;
pub use end::End;
pub use joining::{Given, may_grow};
pub use last_rank::LastRank;
pub use past::{EARLIER_MAX, Earlier, Past};
pub use share_phase::SharePhase;
pub use term_state::TermState;

use crate::fault::Faults;
use crate::held_by::HeldBy;
use crate::timeline::TimelineEntry;
use crate::usage::Used;
use common::id::{Attempt, AttemptId, Gid, JobId, JobKey, NodeName};
use common::job::state::Change;
use common::job::{Ask, Moving, Outcome, Phase, SetPlace, Spec, Usage};
use common::resource::Allocation;
use common::serde_skip::is_default;
use common::time::{Span, Time};
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: JobId,
    /// The number of ids after the job's own that belong to its tasks; 0 if it is no array.
    #[serde(default, skip_serializing_if = "is_default")]
    pub numbers: u32,
    /// The job's place in its set; `None` if it is in none. An array is never in a set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetPlace>,
    /// Shared by all elements.
    pub spec: Spec,
    /// All groups of the owner when the job was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Gid>,
    /// The node that authenticated the owner, if the request came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    pub submitted_at: Time,
    /// How long it was expected to run when it was submitted, from earlier jobs of its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Span>,
    /// The state of each term of the dependency, in the order of the terms; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing: Vec<TermState>,
    /// What happened to a whole array, whose tasks share one request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<TimelineEntry>,
    /// A single job under `None`, or the tasks of an array. Never empty.
    pub elements: Elements,
}

/// A single job, or one array task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Element {
    pub phase: Phase,
    /// Whether its user or an operator keeps it from starting.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: bool,
    /// Who holds it, beside its user.
    #[serde(default, rename = "held_by_operator", skip_serializing_if = "is_default")]
    pub held_by: HeldBy,
    /// When it was last released from a hold. A held job gains no age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Time>,
    /// The number of times that it was started.
    pub attempt: Attempt,
    /// The current attempt, or the last one if the element is Done. `None` while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Run>>,
    /// The attempts before that one, at most [`EARLIER_MAX`], the oldest first. They are for the
    /// accounting of replicas that continue from a snapshot and did not see the events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Box<Past>>,
    /// The nodes that are kept for it while it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Box<Moving>>,
    /// The faulty attempts in a row. `None` if the element is Done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Box<Faults>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When its end was recorded; [`Self::ended_at`] is when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<TimelineEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// All nodes that it was given, without those that it gave up. Nodes stay in it after they
    /// released the job.
    pub allocation: Arc<Allocation>,
    /// The phase of each share, in the order of the allocation. Empty once the element is Done.
    pub shares: Vec<SharePhase>,
    #[serde(skip)]
    pub last_rank: LastRank,
    pub allocated_at: Time,
    pub running_at: Option<Time>,
    /// The begin of the current suspension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Time>,
    /// The total time of earlier suspensions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspended: Span,
    /// The time of the last checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<Time>,
    /// Increases with each change of size while it runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resized: u32,
    /// The job for which it gives nodes up, until they have released it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_to: Option<JobKey>,
    /// When the shares were given that it did not begin with. They are the last shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grown: Vec<Given>,
    /// The number of nodes that are joining: the last ones of those that stay.
    #[serde(default, skip_serializing_if = "is_default")]
    pub joining: u32,
    /// Whether fewer nodes join than were given. The orders of the joining nodes then show more
    /// nodes than the job will have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub joins_less: bool,
    /// The number of failures to join in a row.
    #[serde(default, skip_serializing_if = "is_default")]
    pub join_failures: u32,
    /// The job gets no more nodes before this time, after failures to join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows_after: Option<Time>,
    /// The maximum to which it grows, because a user shrank it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_max: Option<Tasks>,
    /// Nodes that released it while it ran on. They know it as ended, so it never gets them again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub had: BTreeSet<NodeName>,
    /// The decided end.
    pub end: Option<End>,
    /// When the last of the nodes that released it had done so, as they measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_at: Option<Time>,
    /// The usage of its ended shares: CPU time as a sum, and the highest memory peak of a node.
    pub usage: Usage,
    /// What its ended shares kept from others, each until its node released it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kept: Used,
}

impl Element {
    #[must_use]
    pub const fn new(held: bool) -> Self {
        Self {
            phase: Phase::Pending,
            held,
            held_by: HeldBy::User,
            released_at: None,
            attempt: Attempt(0),
            run: None,
            earlier: None,
            moving: None,
            faults: None,
            outcome: None,
            done_at: None,
            timeline: Vec::new(),
        }
    }

    /// The current attempt, or the last one if the element is Done.
    #[must_use]
    pub const fn attempt_id(&self, key: JobKey) -> AttemptId {
        AttemptId { key, attempt: self.attempt }
    }

    /// The number of the next attempt.
    #[must_use]
    pub const fn next_attempt(&self) -> Attempt {
        Attempt(self.attempt.0.saturating_add(1))
    }

    /// Changes the phase along the table of transitions. Returns false and changes nothing if the
    /// table does not allow it.
    #[must_use]
    pub(crate) fn transition(&mut self, change: Change) -> bool {
        match self.phase.after(change) {
            Some(phase) => {
                self.phase = phase;
                true
            }
            None => false,
        }
    }
}

impl Run {
    /// The latest end by its time limit or its deadline. `None` if it has neither, or only a time
    /// limit and is suspended.
    #[must_use]
    pub fn ends_by(&self, ask: &Ask) -> Option<Time> {
        let began = self.running_at.unwrap_or(self.allocated_at);
        let limit = ask.time_limit.filter(|_| self.suspended_at.is_none());
        let limit = limit.map(|limit| began + limit + self.suspended);
        limit.into_iter().chain(ask.deadline).min()
    }

    #[must_use]
    pub(crate) fn new(allocation: Arc<Allocation>, now: Time) -> Self {
        let shares = vec![SharePhase::Unreported; allocation.shares().len()];
        Self {
            allocation,
            shares,
            last_rank: LastRank::default(),
            allocated_at: now,
            running_at: None,
            suspended_at: None,
            suspended: Span(0),
            saved_at: None,
            resized: 0,
            gives_to: None,
            grown: Vec::new(),
            joining: 0,
            joins_less: false,
            join_failures: 0,
            grows_after: None,
            tasks_max: None,
            had: BTreeSet::new(),
            end: None,
            over_at: None,
            usage: Usage::default(),
            kept: Used::default(),
        }
    }

    /// Ends a suspension.
    pub(crate) fn end_suspension(&mut self, now: Time) {
        if let Some(since) = self.suspended_at.take() {
            self.suspended = self.suspended + now.since(since);
        }
    }

    /// The rank of a node: its position in the allocation. Each node of a large job reports, so the
    /// shares are not walked from the start: mostly it is the rank after the last one or the first,
    /// and most allocations are in the order of names.
    #[must_use]
    pub fn rank(&self, node: &NodeName) -> Option<usize> {
        let shares = self.allocation.shares();
        let is_at = |rank: &usize| shares.get(*rank).is_some_and(|share| share.node == *node);
        if let Some(rank) = [self.last_rank.0 as usize + 1, 0].into_iter().find(is_at) {
            return Some(rank);
        }
        let by_name = shares.binary_search_by(|share| share.node.cmp(node));
        by_name.ok().or_else(|| shares.iter().position(|share| share.node == *node))
    }
}
