//! Jobs as a round sees them. Never says what will become of them.

use common::id::{AccountName, Attempt, JobKey, QosName, QueueName, ReservationName, Uid};
use common::policy::VictimMode;
use common::resource::{Allocation, Request, Share};
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A job or array task that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingJob {
    pub key: JobKey,
    /// The attempt a start would be.
    pub attempt: Attempt,
    pub owner: Uid,
    /// The queue it waits in.
    pub queue: QueueName,
    #[serde(default)]
    pub account: Option<AccountName>,
    /// Its quality of service.
    #[serde(default)]
    pub qos: Option<QosName>,
    /// What it needs; the tasks of an array share one.
    pub request: Arc<Request>,
    /// How long it may run, the queue's default filled in; `None`: without bound.
    #[serde(default)]
    pub time_limit: Option<Span>,
    #[serde(default)]
    pub nice: i32,
    /// When it was submitted; a requeue does not change it.
    pub submitted_at: Time,
    /// Not before this time, as its user asked.
    #[serde(default)]
    pub begin_at: Option<Time>,
    /// Not before this time, because its last attempt did not get off the ground.
    #[serde(default)]
    pub not_before: Option<Time>,
    /// Over by then, or not started at all.
    #[serde(default)]
    pub deadline: Option<Time>,
    /// Waits until it is released.
    #[serde(default)]
    pub held: bool,
    /// Waits for other jobs, by rules that are not the engine's.
    #[serde(default)]
    pub awaits: bool,
    /// For a task of an array: how many of its tasks may run at once.
    #[serde(default)]
    pub array_limit: Option<u32>,
    /// May be made to yield once it runs, as it said itself; `None`: as its QoS or queue says.
    #[serde(default)]
    pub preemptible: Option<bool>,
    /// The booking it runs in.
    #[serde(default)]
    pub reservation: Option<ReservationName>,
    /// A service that answers requests.
    #[serde(default)]
    pub service: bool,
    /// Components of one job, started together or not at all: the key of the first of them.
    #[serde(default)]
    pub together: Option<JobKey>,
}

impl WaitingJob {
    /// Since when it waits: since it was submitted or, if that is later, since its begin time.
    #[must_use]
    pub fn since(&self) -> Time {
        self.begin_at.map_or(self.submitted_at, |begin| begin.max(self.submitted_at))
    }

    /// Does it stand in no line, whatever time it is?
    #[must_use]
    pub const fn is_kept_back(&self) -> bool {
        self.held || self.awaits
    }

    /// The time before which it does not start, whatever is free; `None`: none is known.
    #[must_use]
    pub fn gate(&self) -> Option<Time> {
        self.begin_at.max(self.not_before)
    }
}

/// A job that holds resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningJob {
    pub key: JobKey,
    /// Which attempt of it.
    #[serde(default = "first")]
    pub attempt: Attempt,
    /// What it still holds: nodes that have let go of it are left out.
    pub allocation: Arc<Allocation>,
    /// When its time limit ends it; `None`: it has none. May lie in the past.
    pub ends_by: Option<Time>,
    pub owner: Uid,
    pub queue: QueueName,
    #[serde(default)]
    pub account: Option<AccountName>,
    /// Its quality of service.
    #[serde(default)]
    pub qos: Option<QosName>,
    #[serde(default)]
    pub nice: i32,
    /// When it was submitted.
    pub submitted_at: Time,
    /// When it was given its nodes.
    pub started_at: Time,
    /// When it last said that all its work so far is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<Time>,
    /// It has its nodes whole.
    #[serde(default)]
    pub whole_nodes: bool,
    /// The group of its `per_node_max`.
    #[serde(default)]
    pub group: Option<Arc<str>>,
    /// May be made to yield.
    #[serde(default)]
    pub preemptible: bool,
    /// What becomes of it then.
    #[serde(default)]
    pub victim_mode: VictimMode,
    /// Its end is decided: it is on its way out, and yields to nobody any more.
    #[serde(default)]
    pub ending: bool,
    /// The job it was made to yield to; that one asks nobody else until this one, or what it gives
    /// up, is gone.
    #[serde(default)]
    pub yields_to: Option<JobKey>,
    /// On so many of its first nodes it still is what it asked for; `None`: it needs all it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_min: Option<Nodes>,
    /// So many of its last nodes it gives up: what it has there is on its way out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub leaving: u32,
}

impl RunningJob {
    /// What it did since then is lost if it is stopped.
    #[must_use]
    pub fn loses_since(&self) -> Time {
        self.saved_at.map_or(self.started_at, |saved| saved.max(self.started_at))
    }

    /// What it goes on with. Of one that is on its way out: what it has.
    #[must_use]
    pub fn staying(&self) -> &[Share] {
        let shares = self.allocation.shares();
        &shares[..shares.len().saturating_sub(self.leaving as usize)]
    }

    /// What it gives up while it goes on.
    #[must_use]
    pub fn given_up(&self) -> &[Share] {
        &self.allocation.shares()[self.staying().len()..]
    }

    /// May it be asked for some of its nodes, or all of them? Who gives some up is left alone until
    /// those are gone.
    #[must_use]
    pub const fn may_be_asked(&self) -> bool {
        !self.ending && self.leaving == 0
    }
}

/// How many of these nodes, from the first, hold as many tasks as a job is content with; `None`:
/// all of them, or it named no fewest, or a number of nodes.
#[must_use]
pub fn nodes_min(request: &Request, shares: &[Share]) -> Option<Nodes> {
    let least = request.tasks_min.filter(|_| request.nodes.is_none())?;
    let mut tasks = Tasks::ZERO;
    let enough = shares.iter().position(|share| {
        tasks += share.tasks;
        tasks >= least
    })?;
    let nodes = u32::try_from(enough + 1).ok()?;
    (enough + 1 < shares.len()).then_some(Nodes(nodes))
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde wants it
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

const fn first() -> Attempt {
    Attempt(1)
}
