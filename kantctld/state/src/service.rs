//! The stored form of a service: its revisions, the number of replicas that are wanted, and what
//! happened to it. The replicas are jobs, and know their service; only their failures are counted
//! here. Which replicas start and stop is decided by the leader (`lead::services`).

use crate::fault;
use common::id::{Gid, NodeName, Ordinal, Revision, RoleName, ServiceName};
use common::job::{Owner, Replica};
use common::serde_skip::is_default;
use common::service::{
    EVENTS_KEPT, REVISIONS_KEPT, RoleSpec, ServiceEvent, ServiceEventKind, ServiceSpec,
};
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of failures in a row after which a replica is not started again by itself.
pub const FAILURES_MAX: u32 = 5;

/// A replica that has run for this time is no failure in a row when it ends.
pub const RUN_LONG: Span = Span::from_minutes(10);

/// The pause after a replica was refused, before the next one is submitted.
pub const REFUSED_PAUSE: Span = Span::from_seconds(30);

/// A service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub name: ServiceName,
    /// The user that deployed it first, who owns its replicas.
    pub owner: Owner,
    /// All groups of the owner at the last deployment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Gid>,
    /// Whether the owner was an operator at the last deployment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub operator: bool,
    /// The node that authenticated the owner, if the request came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    pub created_at: Time,
    /// The last revisions, at most [`REVISIONS_KEPT`] besides the current and the healthy one.
    pub revisions: BTreeMap<Revision, Arc<ServiceSpec>>,
    /// The revision that all replicas should have.
    pub current: Revision,
    /// The last revision of which all replicas were healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy: Option<Revision>,
    /// The update in progress, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// The wanted number of replicas of each role of the current revision.
    pub wanted: BTreeMap<RoleName, u32>,
    /// No replica is replaced by one of another revision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_paused: bool,
    /// All replicas end, and then the service is removed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_stopping: bool,
    /// The number of replicas submitted so far.
    pub submitted: u64,
    /// The failures of replicas since the last deployment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ReplicaFailures>,
    /// No replica is submitted before this time, because one was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submits_after: Option<Time>,
    /// The last events, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ServiceEvent>,
}

/// An update of a service to its current revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    pub since: Time,
    /// A user has promoted the canaries, or there are none.
    pub is_promoted: bool,
}

/// The failures of a replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaFailures {
    pub role: RoleName,
    pub ordinal: Ordinal,
    pub in_a_row: u32,
    /// The earliest start of the next replica in its place.
    pub not_before: Time,
}

impl Service {
    /// The current specification.
    #[must_use]
    pub fn spec(&self) -> Option<&ServiceSpec> {
        self.revisions.get(&self.current).map(Arc::as_ref)
    }

    /// The role of a replica, in the revision of the replica.
    #[must_use]
    pub fn role_of(&self, replica: &Replica) -> Option<&RoleSpec> {
        self.revisions.get(&replica.revision)?.role(&replica.role)
    }

    /// Whether a replica of this revision is as the current one specifies, so that it need not be
    /// replaced.
    #[must_use]
    pub fn is_current(&self, revision: Revision, role: &RoleName) -> bool {
        let spec = |revision| {
            let spec: &Arc<ServiceSpec> = self.revisions.get(&revision)?;
            Some((spec.role(role)?, spec.drain_delay))
        };
        revision == self.current
            || spec(revision).is_some_and(|one| spec(self.current) == Some(one))
    }

    /// The wanted number of replicas of a role; 0 for a role that the current revision lacks.
    #[must_use]
    pub fn wanted(&self, role: &RoleName) -> u32 {
        self.wanted.get(role).copied().unwrap_or(0)
    }

    #[must_use]
    pub fn failures(&self, role: &RoleName, ordinal: Ordinal) -> Option<&ReplicaFailures> {
        self.failures.iter().find(|one| one.role == *role && one.ordinal == ordinal)
    }

    /// Adds an event, and drops the oldest if there are too many.
    pub(crate) fn note(&mut self, at: Time, kind: ServiceEventKind) {
        if self.events.len() >= EVENTS_KEPT {
            self.events.remove(0);
        }
        self.events.push(ServiceEvent { at, kind });
    }

    /// Counts the failure of a replica. Returns whether it is held from now on.
    pub(crate) fn note_failure(&mut self, replica: &Replica, ended: Time, ran: Span) -> bool {
        let (role, ordinal) = (&replica.role, replica.ordinal);
        let is_it = |one: &ReplicaFailures| one.role == *role && one.ordinal == ordinal;
        let before = self.failures.iter().position(is_it).map(|at| self.failures.remove(at));
        let before = before.map_or(0, |before| before.in_a_row);
        let in_a_row = if ran >= RUN_LONG { 1 } else { before.saturating_add(1) };
        // A first failure costs no time: most programs run when they are started again.
        let pause = in_a_row.checked_sub(1).filter(|more| *more > 0).map(fault::back_off);
        let not_before = ended + pause.unwrap_or_default();
        let role = role.clone();
        self.failures.push(ReplicaFailures { role, ordinal, in_a_row, not_before });
        in_a_row == FAILURES_MAX
    }

    /// Forgets the failures of a replica that has run for long.
    pub(crate) fn forget_failures(&mut self, role: &RoleName, ordinal: Ordinal) {
        self.failures.retain(|one| one.role != *role || one.ordinal != ordinal);
    }

    /// The revisions that are no longer needed: the oldest, but not the current and the healthy
    /// one, and none that `is_used`.
    pub(crate) fn surplus_revisions(&self, is_used: impl Fn(Revision) -> bool) -> Vec<Revision> {
        let surplus = self.revisions.len().saturating_sub(REVISIONS_KEPT);
        let is_needed = |revision: &Revision| {
            *revision == self.current || Some(*revision) == self.healthy || is_used(*revision)
        };
        self.revisions.keys().copied().filter(|one| !is_needed(one)).take(surplus).collect()
    }
}
