//! The check of the right that a request needs, by the table of routes. Made where a request is
//! answered, because only the leader's state is up to date. `apply` repeats it for commands on
//! jobs, with the job as it is then; it alone decides about services and tokens.

use super::error::ApiFailure;
use crate::core::Core;
use axum::extract::{ConnectInfo, MatchedPath, RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::id::{JobKey, ServiceName};
use common::job::Ask;
use common::reason::{Refusal, ServiceRefusal};
use common::right::{JobAction, Right};
use common::route::{ROUTES, Route, route};
use common::wire::node::NODE_PATH;
use common::wire::peer::PEER_PATH;
use net::{Caller, CallerError};
use state::Actor;
use std::sync::Arc;

/// Passes a request on if its user has the right that its route needs.
pub async fn check(
    State(core): State<Arc<Core>>,
    params: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let named = params
        .iter()
        .find(|(name, _)| ["key", "name"].contains(name))
        .map(|(_, named)| named.to_owned());
    // A future must not hold a reference to the body, which other threads cannot share.
    let wanted = wanted(&request);
    let checked = match wanted {
        Ok(Some((route, user))) => check_route(&core, route, &user, named.as_deref()).await,
        Ok(None) => Ok(()),
        Err(refusal) => Err(ApiFailure::Http(refusal)),
    };
    match checked {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

/// The route and the user, if there is something to check.
fn wanted(request: &Request) -> Result<Option<(&'static Route, net::User)>, net::Refusal> {
    let Some(path) = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str) else {
        return Ok(None);
    };
    // axum answers HEAD by the route of GET.
    let method = match request.method().as_str() {
        "HEAD" => "GET",
        method => method,
    };
    let Some(route) = route(method, path) else {
        // The channels are for certificates; of a known path, axum refuses other methods.
        let is_known = [NODE_PATH, PEER_PATH].contains(&path);
        return match is_known || ROUTES.iter().any(|route| route.path == path) {
            true => Ok(None),
            false => Err(no_row()),
        };
    };
    if route.right == Right::Host {
        return Ok(None);
    }
    let caller = request.extensions().get::<ConnectInfo<Caller>>();
    let ConnectInfo(caller) = caller.ok_or(CallerError::Unknown)?;
    match net::caller_identity(caller, request.headers()) {
        Ok(user) => Ok(Some((route, user))),
        // A daemon's own request. Where a user is required, it is refused for that.
        Err(CallerError::Unnamed { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn check_route(
    core: &Core,
    route: &Route,
    user: &net::User,
    named: Option<&str>,
) -> Result<(), ApiFailure> {
    let actor = core.actor(user);
    if let Some(service) = named.filter(|_| route.path.starts_with("/v1/services/")) {
        check_service(core, &actor, service)?;
    }
    match named.filter(|_| route.names_job()) {
        Some(job) if route.right != Right::Operate => {
            check_job(core, &actor, job, route.right).await
        }
        // The state knows whose service or token it is.
        _ if route.right.is_of_an_owner() => Ok(()),
        _ => Ok(check_role(&actor, route.right)?),
    }
}

/// Checks a right that depends on no job.
///
/// # Errors
/// A refusal that says who has it.
pub(super) fn check_role(actor: &Actor, right: Right) -> Result<(), Refusal> {
    match right {
        right if actor.has(right) => Ok(()),
        Right::Oversee => Err(Refusal::ViewersOnly { uid: actor.uid }),
        _ => Err(Refusal::OperatorsOnly { uid: actor.uid }),
    }
}

async fn check_job(
    core: &Core,
    actor: &Actor,
    named: &str,
    right: Right,
) -> Result<(), ApiFailure> {
    // What is no id is refused for that.
    let Ok(named) = named.parse::<JobKey>() else { return Ok(()) };
    if check_job_now(core, actor, named, right).is_err() {
        // Another controller may have accepted or changed the job.
        core.refresh().await?;
        check_job_now(core, actor, named, right)?;
    }
    Ok(())
}

/// Checks the right to a job again during a request that lasts, or for one of the actions of a
/// route.
///
/// # Errors
/// [`Refusal::UnknownJob`], [`Refusal::NotYours`].
pub(super) async fn check_action(
    core: &Core,
    user: &net::User,
    key: JobKey,
    action: JobAction,
) -> Result<(), Refusal> {
    core.access().learn_groups(common::id::Uid(user.uid)).await;
    check_job_now(core, &core.actor(user), key, action.right())
}

fn check_job_now(core: &Core, actor: &Actor, named: JobKey, right: Right) -> Result<(), Refusal> {
    let viewer = core.viewer_of(actor);
    let state = core.state.read();
    let key = state.meant(named);
    // A hidden job is answered as one that does not exist, also by how it was named.
    let seen = state.job(key.job).filter(|record| viewer.sees(record));
    let record = seen.ok_or(Refusal::UnknownJob { key: named })?;
    if state.may(actor, record, right) {
        return Ok(());
    }
    let owner = record.spec.owner.name.clone();
    Err(Refusal::NotYours { job: key.job, owner, right })
}

/// Refuses a request that depends on jobs that its user does not see, as if they did not exist.
/// With private jobs this includes jobs that were forgotten: another answer would tell them apart.
///
/// # Errors
/// [`Refusal::UnknownJob`].
pub(super) fn check_dependencies(core: &Core, user: &net::User, ask: &Ask) -> Result<(), Refusal> {
    let viewer = core.viewer(user);
    let Some(dependency) = ask.dependency.as_ref().filter(|_| viewer.hides_jobs()) else {
        return Ok(());
    };
    let state = core.state.read();
    let hidden = |key: &JobKey| !viewer.sees_key(&state, state.meant(*key));
    match dependency.terms().iter().filter_map(|term| term.on).find(hidden) {
        Some(key) => Err(Refusal::UnknownJob { key }),
        None => Ok(()),
    }
}

/// Refuses a service that the user does not see, as if it did not exist.
///
/// # Errors
/// [`ServiceRefusal::Unknown`].
fn check_service(core: &Core, actor: &Actor, named: &str) -> Result<(), Refusal> {
    // What is no name is refused for that.
    let Ok(name) = named.parse::<ServiceName>() else { return Ok(()) };
    let viewer = core.viewer_of(actor);
    let state = core.state.read();
    match state.service(&name).filter(|service| !viewer.sees_service_of(service.owner.uid)) {
        Some(_) => Err(ServiceRefusal::Unknown { name }.into()),
        None => Ok(()),
    }
}

/// A route without a row is a mistake in this program, and closed.
fn no_row() -> net::Refusal {
    let message = "this request is open to no user: its route is not in the table of rights";
    net::Refusal::new(StatusCode::FORBIDDEN, "no_right", message)
}
