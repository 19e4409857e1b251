//! What users see of a service.

use super::readiness::Readiness;
use super::{ReplicaNow, replicas};
use common::id::{JobKey, RoleName};
use common::job::{Phase, ReplicaHealth};
use common::service::RoleSpec;
use common::wire::api::{ReplicaView, RoleView, ServiceEventView, ServiceState, ServiceView};
use state::State;
use state::service::Service;

/// The names of users and the reasons why jobs wait, which the state does not know.
pub struct Names<'a> {
    pub user: &'a dyn Fn(u32) -> String,
    pub waits_for: &'a dyn Fn(JobKey) -> Option<String>,
    /// The reason of the last decision of a role's autoscaling policy.
    pub scaled_by: &'a dyn Fn(&RoleName) -> Option<String>,
}

/// The view of a service, with its last events if asked for.
#[must_use]
pub fn service_view(
    state: &State,
    service: &Service,
    readiness: &Readiness,
    names: &Names<'_>,
    with_events: bool,
) -> ServiceView {
    let now = replicas(state, service, readiness);
    let spec = service.spec();
    let roles: Vec<RoleView> = spec
        .iter()
        .flat_map(|spec| &spec.roles)
        .map(|role| role_view(state, service, role, &now, readiness, names))
        .collect();
    let event = |event: &common::service::ServiceEvent| ServiceEventView {
        text: event.kind.to_string(),
        by: event.kind.by().map(|uid| (names.user)(uid.0)),
        event: event.clone(),
    };
    let events = service.events.iter().filter(|_| with_events).map(event).collect();
    ServiceView {
        name: service.name.clone(),
        user: service.owner.name.clone(),
        state: service_state(service, &roles),
        revision: service.current,
        healthy_revision: service.healthy,
        revisions: service.revisions.keys().copied().collect(),
        port: spec.and_then(|spec| spec.port),
        created_at: service.created_at,
        roles,
        events,
    }
}

fn service_state(service: &Service, roles: &[RoleView]) -> ServiceState {
    let canary = service.spec().map_or(0, |spec| spec.update.canary);
    let is_current = |replica: &&ReplicaView| replica.revision == service.current;
    let has_canaries = |role: &RoleView| {
        let ready = role.replicas.iter().filter(is_current).filter(|one| one.is_ready()).count();
        ready >= canary.min(role.wanted) as usize
    };
    match service.update {
        _ if service.is_stopping => ServiceState::Stopping,
        _ if service.is_paused => ServiceState::Paused,
        Some(update) if !update.is_promoted && roles.iter().all(has_canaries) => {
            ServiceState::Canary
        }
        Some(_) => ServiceState::Updating,
        None if roles.iter().any(|role| role.ready < role.wanted) => ServiceState::Degraded,
        None => ServiceState::Steady,
    }
}

fn role_view(
    state: &State,
    service: &Service,
    role: &RoleSpec,
    now: &[ReplicaNow],
    readiness: &Readiness,
    names: &Names<'_>,
) -> RoleView {
    let own = now.iter().filter(|replica| replica.role == role.name);
    let replicas: Vec<ReplicaView> =
        own.map(|replica| replica_view(state, replica, readiness, names)).collect();
    let ready = replicas.iter().filter(|one| one.is_ready()).count();
    RoleView {
        name: role.name.clone(),
        bounds: role.replicas,
        wanted: service.wanted(&role.name),
        ready: u32::try_from(ready).unwrap_or(u32::MAX),
        autoscale: role.autoscale.as_ref().and_then(|_| (names.scaled_by)(&role.name)),
        replicas,
    }
}

fn replica_view(
    state: &State,
    replica: &ReplicaNow,
    readiness: &Readiness,
    names: &Names<'_>,
) -> ReplicaView {
    let key = replica.key;
    let element = state.element(key).map(|(_, element)| element);
    let reported = element.and_then(|element| readiness.get(element.attempt_id(key)));
    let run = element.and_then(|element| element.run.as_ref());
    let node = run.and_then(|run| Some(run.allocation.shares().first()?.node.clone()));
    let unprobed = replica.ready_since.map(|_| ReplicaHealth::Ready);
    let health = match replica.phase {
        Phase::Completing => Some(ReplicaHealth::Draining),
        Phase::Running => reported.map(|one| one.status.health).or(unprobed),
        _ => None,
    };
    ReplicaView {
        ordinal: replica.ordinal,
        revision: replica.revision,
        job: key,
        phase: replica.phase,
        health,
        ready_since: replica.ready_since,
        host: node.as_ref().and_then(|node| Some(state.node(node)?.address.clone())),
        node,
        ports: reported.map(|one| one.status.ports.clone()).unwrap_or_default(),
        why: match replica.phase {
            Phase::Pending => (names.waits_for)(key),
            _ => reported.and_then(|one| one.status.why.clone()),
        },
    }
}
