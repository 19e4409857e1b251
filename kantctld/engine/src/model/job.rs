//! Jobs as a round sees them.

use common::id::{AccountName, Attempt, JobKey, QosName, QueueName, ReservationName, Uid};
use common::policy::VictimMode;
use common::resource::{Allocation, Request, Share};
use common::serde_skip::is_default;
use common::time::{Span, Time};
use common::topology::Nearness;
use common::unit::{Nodes, Tasks};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The time limit of a job that has none.
pub(crate) const UNLIMITED: Span = Span(u64::MAX);

/// A waiting job or array task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingJob {
    pub key: JobKey,
    /// The attempt that a start would begin.
    pub attempt: Attempt,
    pub owner: Uid,
    pub queue: QueueName,
    #[serde(default)]
    pub account: Option<AccountName>,
    /// The QoS.
    #[serde(default)]
    pub qos: Option<QosName>,
    /// What it needs. The tasks of an array share one request.
    pub request: Arc<Request>,
    /// The time limit, after the queue's default. `None`: unlimited.
    #[serde(default)]
    pub time_limit: Option<Span>,
    /// How long it is expected to run, if its queue plans by that. The job may run longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Span>,
    #[serde(default)]
    pub nice: i32,
    /// When it was submitted. A requeue does not change it.
    pub submitted_at: Time,
    /// The begin time that the user asked for.
    #[serde(default)]
    pub begin_at: Option<Time>,
    /// The earliest next start after an attempt that failed to launch.
    #[serde(default)]
    pub not_before: Option<Time>,
    /// The job must end by this time, or it does not start.
    #[serde(default)]
    pub deadline: Option<Time>,
    /// The job waits until it is released.
    #[serde(default)]
    pub held: bool,
    /// The job waits for dependencies, which the caller evaluates.
    #[serde(default)]
    pub awaits: bool,
    /// For an array task: how many tasks of the array may run at once.
    #[serde(default)]
    pub array_limit: Option<u32>,
    /// Whether it may be preempted while it runs. `None`: its QoS or queue decides.
    #[serde(default)]
    pub preemptible: Option<bool>,
    /// The reservation it runs in.
    #[serde(default)]
    pub reservation: Option<ReservationName>,
    /// Whether it is a service, which answers requests.
    #[serde(default)]
    pub service: bool,
    /// For a component of a set, which starts together with the others: the key of the first
    /// component.
    #[serde(default)]
    pub together: Option<JobKey>,
    /// For a component of a set: how near to each other the nodes of all components are, which is
    /// the same for all of them. The base of a service prefers it (`near`), and cases of KAI
    /// (`tests/kai`) require it; where it is required and jobs are not shared fairly, the room that
    /// is kept for a set ahead of time does not follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_all: Option<Nearness>,
}

impl WaitingJob {
    /// Since when it waits: its submission or its begin time, whichever is later.
    #[must_use]
    pub fn since(&self) -> Time {
        self.begin_at.map_or(self.submitted_at, |begin| begin.max(self.submitted_at))
    }

    /// How long it is expected to run, otherwise its time limit; the maximum if it has none.
    pub(crate) fn expected_length(&self) -> Span {
        let limit = self.time_limit.unwrap_or(UNLIMITED);
        self.expected.map_or(limit, |expected| expected.min(limit))
    }

    /// Its length, rounded up to three binary digits: by at most a quarter.
    pub(crate) fn rounded_length(&self) -> Span {
        let length = self.expected_length().0;
        let unit = 1 << (u64::BITS - length.leading_zeros()).saturating_sub(3);
        let rest = length & (unit - 1);
        let rounded = if rest == 0 { Some(length) } else { (length - rest).checked_add(unit) };
        Span(rounded.unwrap_or(length))
    }

    /// Whether it is held or waits for a dependency, and so cannot start at any time.
    #[must_use]
    pub const fn is_kept_back(&self) -> bool {
        self.held || self.awaits
    }

    /// The earliest time at which it may start, whatever is free. `None`: none is known.
    #[must_use]
    pub fn earliest_start(&self) -> Option<Time> {
        self.begin_at.max(self.not_before)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningJob {
    pub key: JobKey,
    #[serde(default = "first")]
    pub attempt: Attempt,
    /// What it still holds, without nodes that have already left it.
    pub allocation: Arc<Allocation>,
    /// When its time limit ends it. `None`: it has no time limit. May be in the past.
    pub ends_by: Option<Time>,
    pub owner: Uid,
    pub queue: QueueName,
    #[serde(default)]
    pub account: Option<AccountName>,
    /// The QoS.
    #[serde(default)]
    pub qos: Option<QosName>,
    #[serde(default)]
    pub nice: i32,
    pub submitted_at: Time,
    /// When it was given its nodes.
    pub started_at: Time,
    /// The job's last checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<Time>,
    /// Whether it has whole nodes.
    #[serde(default)]
    pub whole_nodes: bool,
    /// The group from whose other jobs it keeps apart.
    #[serde(default)]
    pub group: Option<Arc<str>>,
    #[serde(default)]
    pub preemptible: bool,
    /// What happens to it when it is preempted.
    #[serde(default)]
    pub victim_mode: VictimMode,
    /// Whether its end is decided. Such a job is not preempted again.
    #[serde(default)]
    pub ending: bool,
    /// The preemptor. It preempts no other job until this job, or the part that this job gives up,
    /// is gone.
    #[serde(default)]
    pub yields_to: Option<JobKey>,
    /// How many of its first nodes are enough for it. `None`: it needs all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_min: Option<Nodes>,
    /// How many of its last nodes it is giving up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub leaving: u32,
}

impl RunningJob {
    /// Its start or last checkpoint. It loses the work since then if it is stopped.
    #[must_use]
    pub fn unsaved_since(&self) -> Time {
        self.saved_at.map_or(self.started_at, |saved| saved.max(self.started_at))
    }

    /// What the job keeps. For a job that is ending: all that it has.
    #[must_use]
    pub fn staying_shares(&self) -> &[Share] {
        let shares = self.allocation.shares();
        &shares[..shares.len().saturating_sub(self.leaving as usize)]
    }

    /// What the job gives up while it runs on.
    #[must_use]
    pub fn given_up_shares(&self) -> &[Share] {
        &self.allocation.shares()[self.staying_shares().len()..]
    }

    /// Whether the job may be preempted or shrunk. A job that is giving up nodes is left alone
    /// until they are gone.
    #[must_use]
    pub const fn may_be_preempted(&self) -> bool {
        !self.ending && self.leaving == 0
    }
}

/// How many of these nodes, from the first, hold the fewest tasks that the job accepts. `None`: it
/// needs all of them, has no minimum, or asked for a fixed number of nodes.
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

const fn first() -> Attempt {
    Attempt(1)
}
