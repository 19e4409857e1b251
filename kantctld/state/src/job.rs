//! What the state keeps of a job: one record for each submission, with one element for the job, or
//! one for each task of an array. A waiting element is a few dozen bytes.
//! Never moves a job by itself: `life` does, and only along `common::job::state::TRANSITIONS`.

mod elements;
mod end;
mod joining;
mod leaving;
mod past;
mod share_phase;

pub use elements::Elements;
pub use end::End;
pub use joining::{Given, may_grow};
pub use past::{EARLIER_MAX, Earlier, Past};
pub use share_phase::SharePhase;

use crate::dependency::TermState;
use crate::fault::Faults;
use crate::story::StoryLine;
use crate::usage::Used;
use common::id::{ArrayIndex, Attempt, AttemptId, Gid, JobId, JobKey, NodeName};
use common::job::state::Change;
use common::job::{Ask, Moving, Outcome, Phase, SetPlace, Spec, Usage};
use common::resource::Allocation;
use common::time::{Span, Time};
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: JobId,
    /// How many ids after its own are those of its tasks; 0 of a job that is no array.
    #[serde(default, skip_serializing_if = "is_default")]
    pub numbers: u32,
    /// Which component of a set it is; `None`: of none. Never of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetPlace>,
    /// What all its elements share.
    pub spec: Spec,
    /// All groups of its owner when it was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Gid>,
    /// The node that vouched for its owner, if the request came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    /// When it was accepted.
    pub submitted_at: Time,
    /// How far each term of its dependency is, in its order; none without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing: Vec<TermState>,
    /// What happened to all of an array at once: its tasks share what was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<StoryLine>,
    /// The job itself under `None`, or the tasks of the array. Never empty.
    pub elements: Elements,
}

/// A job, or one task of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Element {
    pub phase: Phase,
    /// May not start, by wish of its user or an operator.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: bool,
    /// The hold is an operator's, and only an operator may end it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held_by_operator: bool,
    /// When it was last let go after a hold: while held it does not age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Time>,
    /// How often it was started.
    pub attempt: Attempt,
    /// The current attempt, or the last one of an element that is Done. Never of a waiting one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Run>>,
    /// Its last attempts before that one, at most [`EARLIER_MAX`], oldest first: for accounting,
    /// where a replica goes on from a snapshot that has them and not from the events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Box<Past>>,
    /// Where a place is kept for it, while it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Box<Moving>>,
    /// Its faulty attempts in a row. Of none that is Done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Box<Faults>>,
    /// How it ended, once Done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When it became Done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Time>,
    /// What happened to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<StoryLine>,
}

/// One attempt of an element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What it was given; whole for the record, also when nodes have let go, less what it gave up.
    pub allocation: Arc<Allocation>,
    /// How far each share is, in the allocation's order. Emptied once Done.
    pub shares: Vec<SharePhase>,
    /// When it was given its allocation.
    pub allocated_at: Time,
    /// When it began to run.
    #[serde(default)]
    pub running_at: Option<Time>,
    /// Since when it is suspended, while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Time>,
    /// How long it was suspended before.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub suspended: Span,
    /// When somebody last said that all its work so far is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<Time>,
    /// Rises whenever it is given another size while it runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resized: u32,
    /// The job that it gives nodes up for, until those have let go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_to: Option<JobKey>,
    /// When those of its shares were given to it that it did not begin with: they are the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grown: Vec<Given>,
    /// So many of those that it goes on with, the last ones, join it: not all of them run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub joining: u32,
    /// Fewer join it than were to: orders with this size's number say more nodes than it will have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub joins_less: bool,
    /// How often in a row nodes failed to join it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub join_failures: u32,
    /// It is given no more nodes before then, since some failed to join it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grows_after: Option<Time>,
    /// It grows to no more than this: somebody made it so small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_max: Option<Tasks>,
    /// Nodes that let go of it while it went on. They know it as over: none of them is given to it
    /// again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub had: BTreeSet<NodeName>,
    /// How it ends, once that is decided.
    #[serde(default)]
    pub end: Option<End>,
    /// What its ended shares used: CPU time summed, the highest memory peak of a node.
    #[serde(default)]
    pub usage: Usage,
    /// What its ended shares kept from others, each until its node let go; `None`: none has, or an
    /// older release did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Used>,
}

/// Is it as it is where nothing is said? Then it is not stored.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Record {
    /// The plain number of one of its elements (SLURM_JOB_ID): of a task its own, after the
    /// array's; `None` of tasks that have none.
    #[must_use]
    pub fn number(&self, index: Option<ArrayIndex>) -> Option<JobId> {
        let Some(index) = index else { return Some(self.id) };
        let place = self.spec.ask.array.as_ref()?.place_of(index)?;
        let number = self.id.0.checked_add(1 + place)?;
        (place < self.numbers).then_some(JobId(number))
    }

    /// The key of one of its elements.
    #[must_use]
    pub const fn key(&self, index: Option<ArrayIndex>) -> JobKey {
        JobKey { job: self.id, index }
    }
}

impl Element {
    #[must_use]
    pub const fn new(held: bool) -> Self {
        Self {
            phase: Phase::Pending,
            held,
            held_by_operator: false,
            released_at: None,
            attempt: Attempt(0),
            run: None,
            earlier: None,
            moving: None,
            faults: None,
            outcome: None,
            done_at: None,
            story: Vec::new(),
        }
    }

    /// Its current (or, once Done, last) attempt.
    #[must_use]
    pub const fn attempt_id(&self, key: JobKey) -> AttemptId {
        AttemptId { key, attempt: self.attempt }
    }

    /// The attempt its next start will be.
    #[must_use]
    pub const fn next_attempt(&self) -> Attempt {
        Attempt(self.attempt.0.saturating_add(1))
    }

    /// Lays its current attempt aside: it was over at `over_at`, and another one is to come.
    pub(crate) fn set_aside(&mut self, over_at: Time) {
        let Some(mut run) = self.run.take() else { return };
        run.shares = Vec::new();
        let Past(past) = self.earlier.get_or_insert_default().as_mut();
        if past.len() >= EARLIER_MAX {
            past.remove(0);
        }
        past.push(Earlier { attempt: self.attempt, run: *run, over_at });
    }

    /// Its attempts before the current one, as far as they are kept, oldest first.
    pub fn past(&self) -> impl Iterator<Item = &Earlier> {
        self.earlier.iter().flat_map(|past| &past.0)
    }

    /// Moves along the table of transitions. False, and nothing changes, if it does not allow that.
    #[must_use]
    pub(crate) fn follow(&mut self, change: Change) -> bool {
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
    /// When it ends at the latest: by its time limit or its deadline, whichever is sooner. `None`:
    /// it has neither, or stands still, and its time limit with it.
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
            usage: Usage::default(),
            kept: None,
        }
    }

    /// It does not stand still any more.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Some(since) = self.suspended_at.take() {
            self.suspended = self.suspended + now.since(since);
        }
    }

    /// The place of a node in the allocation: its rank.
    #[must_use]
    pub fn rank(&self, node: &NodeName) -> Option<usize> {
        self.allocation.shares().iter().position(|s| s.node == *node)
    }
}
