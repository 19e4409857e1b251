//! Services: deploy, list, show, scale, roll back, pause, resume, promote, stop, and their
//! endpoints. The state decides who may do so; the leader starts and stops replicas.

mod deploy;

pub use deploy::deploy;

use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use crate::host_names::user_name;
use crate::leader::services::local_time;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use common::id::{JobKey, RoleName, ServiceName};
use common::job::ReplicaHealth;
use common::reason::{Refusal, ServiceRefusal};
use common::wire::api::{
    RollbackRequest, ScaleRequest, ServiceExplanation, ServiceList, ServiceView, TargetGroup,
};
use lead::services::{self, Names, endpoints, service_view};
use net::http::StatusCode;
use query::view::Waits;
use query::viewer::Viewer;
use state::service::Service;
use state::{Command, ServiceAction};
use std::sync::Arc;

/// GET /v1/services
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
) -> Result<Json<ServiceList>, ApiFailure> {
    let (shared, waits, as_of) = (core.clone(), core.last_waits(), core.now());
    let viewer = core.viewer(&user);
    let services = slow_query::run(&core, user.uid, move |state| {
        let seen = state.services().filter(|service| viewer.sees_service_of(service.owner.uid));
        seen.map(|service| view(&shared, (state, &viewer), &waits, service, false)).collect()
    });
    Ok(Json(ServiceList { services: services.await?, as_of }))
}

/// GET /v1/services/{name}
pub async fn show(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ServiceList>, ApiFailure> {
    service_answer(&core, &core.viewer(&user), &name.parse()?)
}

/// A service as a list of one, with its events.
fn service_answer(
    core: &Core,
    viewer: &Viewer,
    name: &ServiceName,
) -> Result<Json<ServiceList>, ApiFailure> {
    let (state, waits) = (core.state.read(), core.last_waits());
    let service = find(&state, name)?;
    let services = vec![view(core, (&state, viewer), &waits, service, true)];
    Ok(Json(ServiceList { services, as_of: core.now() }))
}

fn find<'a>(state: &'a state::State, name: &ServiceName) -> Result<&'a Service, Refusal> {
    let unknown = || ServiceRefusal::Unknown { name: name.clone() }.into();
    state.service(name).ok_or_else(unknown)
}

fn view(
    core: &Core,
    (state, viewer): (&state::State, &Viewer),
    waits: &Waits,
    service: &Service,
    with_events: bool,
) -> ServiceView {
    let waits_for = |key: JobKey| why_it_waits((state, viewer), waits, key);
    // In the order in which the leader's loop takes them.
    let (readiness, autoscaler) = (core.readiness.read(), core.autoscaler.read());
    let scaled_by = |role: &RoleName| Some(autoscaler.reason(&service.name, role)?.to_string());
    let names = Names { user: &user_name, waits_for: &waits_for, scaled_by: &scaled_by };
    service_view(state, service, &readiness, &names, with_events)
}

/// Why a replica waits, without jobs that the reader does not see.
fn why_it_waits(
    (state, viewer): (&state::State, &Viewer),
    waits: &Waits,
    key: JobKey,
) -> Option<String> {
    Some(viewer.visible_reason(state, waits.get(&key)?.reason.clone()).to_string())
}

/// GET /v1/services/{name}/explain
pub async fn explain(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ServiceExplanation>, ApiFailure> {
    let name: ServiceName = name.parse()?;
    let viewer = core.viewer(&user);
    let (now, state, waits) = (core.now(), core.state.read(), core.last_waits());
    let service = find(&state, &name)?;
    let waits_for = |key: JobKey| why_it_waits((&state, &viewer), &waits, key);
    let (readiness, autoscaler) = (core.readiness.read(), core.autoscaler.read());
    let scaled_by = |role: &RoleName| Some(autoscaler.reason(&name, role)?.to_string());
    let names = Names { user: &user_name, waits_for: &waits_for, scaled_by: &scaled_by };
    let times = (now, local_time(now));
    Ok(Json(services::explain(&state, service, &readiness, &autoscaler, &names, times)))
}

/// POST /v1/services/{name}/scale
pub async fn scale(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
    body: Result<Json<ScaleRequest>, JsonRejection>,
) -> Result<Json<ServiceList>, ApiFailure> {
    let Json(request) = body?;
    let name: ServiceName = name.parse()?;
    let role = match request.role {
        Some(role) => role,
        None => only_role(find(&core.state.read(), &name)?)?,
    };
    let action = ServiceAction::Scale { role, replicas: request.replicas };
    act(&core, &user, name, action).await
}

/// The only role of a service, for a request that names none.
fn only_role(service: &Service) -> Result<RoleName, Refusal> {
    let roles = service.spec().map(|spec| &spec.roles[..]).unwrap_or_default();
    match roles {
        [role] => Ok(role.name.clone()),
        roles => {
            let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
            let message = format!("name a role with --role: there are {}", names.join(", "));
            Err(Refusal::BadAsk { message })
        }
    }
}

/// POST /v1/services/{name}/rollback
pub async fn roll_back(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
    body: Result<Json<RollbackRequest>, JsonRejection>,
) -> Result<Json<ServiceList>, ApiFailure> {
    let Json(request) = body?;
    act(&core, &user, name.parse()?, ServiceAction::RollBack { to: request.to }).await
}

/// POST /v1/services/{name}/pause
pub async fn pause(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ServiceList>, ApiFailure> {
    act(&core, &user, name.parse()?, ServiceAction::Pause).await
}

/// POST /v1/services/{name}/resume
pub async fn resume(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ServiceList>, ApiFailure> {
    act(&core, &user, name.parse()?, ServiceAction::Resume).await
}

/// POST /v1/services/{name}/promote
pub async fn promote(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ServiceList>, ApiFailure> {
    act(&core, &user, name.parse()?, ServiceAction::Promote).await
}

/// POST /v1/services/{name}/stop
pub async fn stop(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ServiceList>, ApiFailure> {
    act(&core, &user, name.parse()?, ServiceAction::Stop).await
}

async fn act(
    core: &Core,
    user: &net::User,
    name: ServiceName,
    action: ServiceAction,
) -> Result<Json<ServiceList>, ApiFailure> {
    let actor = core.actor(user);
    core.propose_command(Command::ActOnService { actor, name: name.clone(), action }).await?;
    // A stopped service without replicas may be gone already.
    Ok(service_answer(core, &core.viewer(user), &name)
        .unwrap_or_else(|_| Json(ServiceList { services: Vec::new(), as_of: core.now() })))
}

/// GET /v1/services/{name}/endpoints: the ready replicas, one group for each port of each.
pub async fn list_endpoints(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path(name): Path<String>,
) -> Result<Json<Vec<TargetGroup>>, ApiFailure> {
    let name: ServiceName = name.parse()?;
    let (now, state) = (core.now(), core.state.read());
    let (service, readiness) = (find(&state, &name)?, core.readiness.read());
    if !readiness.is_complete(&state, &name, now) {
        let text = format!("not all nodes have reported their replicas of {name} yet");
        let refusal = net::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "not_reported", text);
        return Err(ApiFailure::Http(refusal.with_hint("ask again in some seconds")));
    }
    let found = endpoints(&state, service, &readiness);
    let ready = found.iter().filter(|one| one.health == ReplicaHealth::Ready);
    let groups = ready.flat_map(|endpoint| {
        endpoint.ports.iter().map(|port| TargetGroup {
            targets: vec![format!("{}:{}", endpoint.host, port.number)],
            labels: [
                ("kant_service", name.to_string()),
                ("kant_role", endpoint.role.to_string()),
                ("kant_replica", endpoint.ordinal.to_string()),
                ("kant_revision", endpoint.revision.to_string()),
                ("kant_port", port.name.to_string()),
                ("kant_job", endpoint.id.key.to_string()),
            ]
            .into_iter()
            .map(|(label, value)| (label.to_owned(), value))
            .collect(),
        })
    });
    Ok(Json(groups.collect()))
}
