//! What nodes report of their replicas. It is not in the log: nodes report it again to every new
//! leader.

use common::id::{AttemptId, NodeName, ServiceName};
use common::job::{Phase, ReplicaHealth, ReplicaStatus};
use common::node::Contact;
use common::time::{Span, Time};
use state::State;
use state::service::Service;
use std::collections::BTreeMap;

/// How long a new leader waits for the reports of all nodes.
pub const REPORTS_MAX: Span = Span::from_seconds(15);

/// For how long the last reports of a node count once it is out of contact. Then its replicas leave
/// the discovery, and come back when it reports again. It is longer than a restart of kantd.
/// Source: Kubernetes, node-monitor-grace-period (40 s by default).
pub const SILENCE_MAX: Span = Span::from_seconds(40);

/// The last report on a replica.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    pub node: NodeName,
    pub status: ReplicaStatus,
    /// Since when it has been ready, or has not been, without a break, by the leader's clock.
    pub since: Time,
}

impl Reported {
    fn is_ready(&self) -> bool {
        self.status.health == ReplicaHealth::Ready
    }
}

/// The last reports on all replicas.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Readiness {
    by_attempt: BTreeMap<AttemptId, Reported>,
    /// Since when nodes report to this leader.
    begun_at: Time,
}

impl Readiness {
    /// Takes a node's report. Returns whether anything changed.
    pub fn note_report(
        &mut self,
        node: &NodeName,
        statuses: Vec<ReplicaStatus>,
        now: Time,
    ) -> bool {
        let mut has_changed = false;
        for status in statuses {
            let before = self.by_attempt.get(&status.id);
            if before.is_some_and(|before| before.status == status && before.node == *node) {
                continue;
            }
            let is_ready = status.health == ReplicaHealth::Ready;
            let before = before.filter(|before| before.is_ready() == is_ready);
            let since = before.map_or(now, |before| before.since);
            let reported = Reported { node: node.clone(), status, since };
            self.by_attempt.insert(reported.status.id, reported);
            has_changed = true;
        }
        has_changed
    }

    /// Forgets all reports: nodes report again to a new leader, whose term begins now.
    pub fn start_term(&mut self, now: Time) {
        self.by_attempt.clear();
        self.begun_at = now;
    }

    /// Since when nodes report to this leader.
    #[must_use]
    pub const fn begun_at(&self) -> Time {
        self.begun_at
    }

    /// Whether there is a report on each replica of a service that runs, or nodes have had the time
    /// to send one. Before, the list of those that are ready would be too short.
    #[must_use]
    pub fn is_complete(&self, state: &State, service: &ServiceName, now: Time) -> bool {
        self.had_time(now) || self.has_all(state, service)
    }

    /// Whether routers can get a table, which lists all services: there is a report on each replica
    /// that runs of those with a port, or nodes have had the time to send one. Before, routers go
    /// on with the table of the last leader.
    #[must_use]
    pub fn may_send_routes(&self, state: &State, now: Time) -> bool {
        let has_port = |service: &&Service| service.spec().is_some_and(|spec| spec.port.is_some());
        let mut with_port = state.services().filter(has_port);
        self.had_time(now) || with_port.all(|service| self.has_all(state, &service.name))
    }

    fn had_time(&self, now: Time) -> bool {
        now.since(self.begun_at) >= REPORTS_MAX
    }

    /// Whether there is a report on each replica of a service that runs.
    pub(super) fn has_all(&self, state: &State, service: &ServiceName) -> bool {
        let mut running = state.replicas_of(service).filter_map(|record| {
            let (index, element) = record.elements.first_key_value()?;
            let runs = element.phase == Phase::Running;
            runs.then(|| element.attempt_id(record.key(*index)))
        });
        running.all(|id| self.get(id).is_some())
    }

    /// Forgets the replicas that have ended, and those on nodes that have been silent for too long.
    pub fn prune(&mut self, state: &State, now: Time) {
        let is_silent = |node: &NodeName| match state.node(node).map(|node| node.contact) {
            Some(Contact::Silent { since }) => now.since(since) >= SILENCE_MAX,
            _ => false,
        };
        self.by_attempt.retain(|id, reported| {
            let element = state.element(id.key).map(|(_, element)| element);
            element.is_some_and(|element| {
                element.attempt == id.attempt && element.phase.holds_resources()
            }) && !is_silent(&reported.node)
        });
    }

    #[must_use]
    pub fn get(&self, id: AttemptId) -> Option<&Reported> {
        self.by_attempt.get(&id)
    }

    /// Since when a replica has been ready. `None`: it is not.
    #[must_use]
    pub fn ready_since(&self, id: AttemptId) -> Option<Time> {
        self.get(id).filter(|reported| reported.is_ready()).map(|reported| reported.since)
    }

    /// Since when a replica has not been ready. `None`: it is ready, or there is no report on it.
    #[must_use]
    pub fn unready_since(&self, id: AttemptId) -> Option<Time> {
        self.get(id).filter(|reported| !reported.is_ready()).map(|reported| reported.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{Attempt, JobId, JobKey};

    #[test]
    fn a_break_begins_the_ready_time_again() {
        let (mut readiness, node) = (Readiness::default(), NodeName::new("a").unwrap());
        let id = AttemptId { key: JobKey::single(JobId(1)), attempt: Attempt(1) };
        let mut report = |health, now| {
            let status = ReplicaStatus { id, health, ports: Vec::new(), why: None };
            let has_changed = readiness.note_report(&node, vec![status], Time(now));
            (has_changed, readiness.ready_since(id))
        };
        assert_eq!(report(ReplicaHealth::Starting, 1), (true, None));
        assert_eq!(report(ReplicaHealth::Ready, 2), (true, Some(Time(2))));
        assert_eq!(report(ReplicaHealth::Ready, 3), (false, Some(Time(2))), "a new leader asks");
        assert_eq!(report(ReplicaHealth::NotReady, 4), (true, None));
        assert_eq!(report(ReplicaHealth::Ready, 5), (true, Some(Time(5))));
    }
}
