//! Where the replicas of a service can be reached: derived from the state and the reports of nodes.

use super::readiness::Readiness;
use common::id::{AttemptId, Ordinal, Revision, RoleName};
use common::job::{Phase, PortGrant, ReplicaHealth};
use state::State;
use state::service::Service;

/// A replica that can be reached.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointNow {
    pub id: AttemptId,
    pub role: RoleName,
    pub ordinal: Ordinal,
    pub revision: Revision,
    /// The address of its first node.
    pub host: String,
    pub ports: Vec<PortGrant>,
    pub health: ReplicaHealth,
}

/// The replicas of a service that can be reached.
#[must_use]
pub fn endpoints(state: &State, service: &Service, readiness: &Readiness) -> Vec<EndpointNow> {
    let endpoints = state.replicas_of(&service.name).filter_map(|record| {
        let replica = record.spec.ask.replica.as_ref()?;
        let (index, element) = record.elements.first_key_value()?;
        let id = element.attempt_id(record.key(*index));
        let reported = readiness.get(id)?;
        let health = match element.phase {
            Phase::Running => reported.status.health,
            // Its node is about to stop it.
            Phase::Completing => ReplicaHealth::Draining,
            _ => return None,
        };
        let host = state.node(&reported.node)?.address.clone();
        let ports = reported.status.ports.clone();
        let (role, ordinal) = (replica.role.clone(), replica.ordinal);
        Some(EndpointNow { id, role, ordinal, revision: replica.revision, host, ports, health })
    });
    endpoints.collect()
}
