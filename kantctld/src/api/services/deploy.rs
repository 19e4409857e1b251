//! The deployment of a service, and the plan of one.

use crate::api::audited::AuditRemark;
use crate::api::error::ApiFailure;
use crate::api::origin::Origin;
use crate::api::right_check::check_dependencies;
use crate::api::submit::{self, owner, refuse_a_set_that_never_fits, refuse_what_never_fits};
use crate::core::{CommandError, Core};
use crate::disk_guard::DiskGuard;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use common::id::ServiceName;
use common::job::Ask;
use common::reason::{Refusal, ServiceRefusal};
use common::wire::api::{DeployAnswer, DeployRequest};
use net::http::StatusCode;
use query::viewer::Viewer;
use state::service::Service;
use state::{Actor, Command, Deployment, Event};
use std::sync::Arc;

/// POST /v1/services
pub async fn deploy(
    State(core): State<Arc<Core>>,
    Extension(disk_guard): Extension<Arc<DiskGuard>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<DeployRequest>, JsonRejection>,
) -> Result<Json<DeployAnswer>, ApiFailure> {
    let Json(request) = body?;
    remark.set_target(&request.name);
    request.check().map_err(Refusal::from)?;
    let (actor, viewer) = (core.actor(&user), core.viewer(&user));
    let refused = |refusal| hide_other_services(&core.state.read(), &viewer, refusal);
    // Before any other answer about it.
    check_owner(&core.state.read(), &actor, &request.name).map_err(refused)?;
    for role in &request.spec.roles {
        check_dependencies(&core, &user, &role.ask)?;
    }
    disk_guard.check()?;
    if !request.force {
        for role in request.spec.roles.iter().filter(|role| role.replicas.max > 0) {
            refuse_what_never_fits(&core, &role.ask).await?;
        }
        let gang: Vec<Ask> = request.spec.gang().map(|(role, _)| role.ask.clone()).collect();
        if gang.len() > 1 {
            refuse_a_set_that_never_fits(&core, &gang).await?;
        }
    }
    let (owner, groups) = owner(&core, &user).await?;
    let deployment = Deployment {
        operator: actor.operator,
        owner,
        groups,
        via: origin.vouching_node(),
        name: request.name.clone(),
        spec: request.spec,
        texts: request.texts,
    };
    if request.dry_run {
        remark.set_detail("dry run");
        let plan = query::view::deployment_plan(&core.state.read(), &deployment);
        return plan.map(Json).map_err(refused);
    }
    let deployed = core.propose_command(Command::DeployService(Box::new(deployment))).await;
    let events = deployed.map_err(|error| match error {
        CommandError::Refused(refusal) => refused(refusal),
        error => error.into(),
    })?;
    let revision = events.iter().find_map(|event| match event {
        Event::ServiceChanged { revision, .. } => Some(*revision),
        _ => None,
    });
    let revision = revision.ok_or_else(submit::no_outcome)?;
    Ok(Json(DeployAnswer { name: request.name, revision, plan: Vec::new() }))
}

/// Refuses a name that is another user's service.
fn check_owner(state: &state::State, actor: &Actor, name: &ServiceName) -> Result<(), Refusal> {
    let is_others = |service: &&Service| !actor.operator && service.owner.uid != actor.uid;
    match state.service(name).filter(is_others) {
        Some(service) => {
            let (name, owner) = (name.clone(), service.owner.name.clone());
            Err(ServiceRefusal::NotYours { name, owner }.into())
        }
        None => Ok(()),
    }
}

/// The refusal without whose service has the name, and which one has the port, where the reader
/// does not see that service. Names and ports are global: that they are taken cannot be hidden.
fn hide_other_services(state: &state::State, viewer: &Viewer, refusal: Refusal) -> ApiFailure {
    let is_hidden = |name: &ServiceName| {
        state.service(name).is_some_and(|service| !viewer.sees_service_of(service.owner.uid))
    };
    let (code, message, hint) = match &refusal {
        Refusal::Service(ServiceRefusal::NotYours { name, .. }) if is_hidden(name) => {
            ("name_taken", format!("the name {name} is taken"), "choose another name")
        }
        Refusal::Service(ServiceRefusal::PortTaken { port, service }) if is_hidden(service) => {
            ("port_taken", format!("port {port} is taken"), "choose another `port`")
        }
        _ => return refusal.into(),
    };
    ApiFailure::Http(net::Refusal::new(StatusCode::CONFLICT, code, message).with_hint(hint))
}
