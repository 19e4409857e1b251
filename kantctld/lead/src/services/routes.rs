//! The services for routers: those with a port, and the replicas of their entry role.

use super::endpoints::{EndpointNow, endpoints};
use super::readiness::Readiness;
use common::job::ReplicaHealth;
use common::service::table::EndpointState;
use common::time::Time;
use common::wire::node::{EndpointOrder, RouteOrder};
use state::State;
use state::service::Service;

/// What routers serve now; `None` if nodes have not reported enough for a table, so that routers go
/// on with the one they have.
#[must_use]
pub fn routes(state: &State, readiness: &Readiness, now: Time) -> Option<Vec<RouteOrder>> {
    let orders = state.services().filter_map(|service| route(state, service, readiness));
    readiness.may_send_routes(state, now).then(|| orders.collect())
}

fn route(state: &State, service: &Service, readiness: &Readiness) -> Option<RouteOrder> {
    let spec = service.spec()?;
    let port = spec.port?;
    let entry = spec.entry_role()?.name.clone();
    let found = endpoints(state, service, readiness).into_iter();
    let of_entry = found.filter(|endpoint| endpoint.role == entry);
    Some(RouteOrder {
        service: service.name.clone(),
        port,
        endpoints: of_entry.filter_map(|endpoint| endpoint_order(&endpoint)).collect(),
        affinity: spec.affinity.clone(),
        hold: spec.hold,
        token: spec.token,
        drain_seconds: u32::try_from(spec.drain_delay.seconds()).unwrap_or(u32::MAX),
        protocol: spec.protocol,
    })
}

/// The first port of a replica is the one for requests.
fn endpoint_order(endpoint: &EndpointNow) -> Option<EndpointOrder> {
    let state = match endpoint.health {
        ReplicaHealth::Ready => EndpointState::Ready,
        ReplicaHealth::Starting | ReplicaHealth::NotReady => EndpointState::NotReady,
        ReplicaHealth::Draining => EndpointState::Draining,
    };
    Some(EndpointOrder {
        id: endpoint_id(endpoint),
        host: endpoint.host.clone(),
        port: endpoint.ports.first()?.number,
        state,
    })
}

/// `role/ordinal.number`, where the number is that of the job and its attempt, because during an
/// update two jobs have the same place.
fn endpoint_id(endpoint: &EndpointNow) -> String {
    let EndpointNow { id, role, ordinal, .. } = endpoint;
    format!("{role}/{ordinal}.{}{:03}", id.key.job, id.attempt.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{Ordinal, Revision};
    use common::job::PortGrant;
    use common::service::table::{Endpoint, Protocol, Route, Table};

    #[test]
    fn a_router_accepts_the_ids_of_two_jobs_in_one_place() {
        let endpoint = |job| {
            let now = EndpointNow {
                id: testkit::attempt(job, 1),
                role: "worker".parse().unwrap(),
                ordinal: Ordinal(0),
                revision: Revision(1),
                host: "127.0.0.1".to_owned(),
                ports: vec![PortGrant { name: "http".parse().unwrap(), number: 20_000 }],
                health: ReplicaHealth::Ready,
            };
            let EndpointOrder { id, state, .. } = endpoint_order(&now).unwrap();
            Endpoint { id, addr: ([127, 0, 0, 1], 20_000).into(), state }
        };
        let route = Route {
            service: "chat".to_owned(),
            listen: ([127, 0, 0, 1], 8000).into(),
            endpoints: vec![endpoint(7), endpoint(8)],
            affinity: None,
            hold: Default::default(),
            drain_seconds: 1,
            token: None,
            protocol: Protocol::default(),
        };
        assert_eq!(Table { version: 1, services: vec![route] }.check(), Ok(()));
    }
}
