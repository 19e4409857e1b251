//! The check of the right that a request needs, by the table of routes. Made where a request is
//! answered, because only the leader's state is up to date. `apply` repeats it for commands on
//! jobs, with the job as it is then; it alone decides about services and tokens.

use super::audited::{AuditRemark, ReadAs};
use super::error::ApiFailure;
use super::origin::Origin;
use crate::core::Core;
use axum::extract::{ConnectInfo, MatchedPath, RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::id::{JobKey, ServiceName, Uid};
use common::job::Ask;
use common::reason::{Refusal, ServiceRefusal};
use common::right::{JobAction, Right, Role};
use common::route::{ROUTES, Route, find_route};
use common::wire::node::NODE_PATH;
use common::wire::peer::PEER_PATH;
use net::{Caller, CallerError, UserGroups};
use state::Actor;
use std::sync::Arc;

/// Passes a request on if its user has the right that its route needs.
pub async fn check(
    State(core): State<Arc<Core>>,
    params: RawPathParams,
    mut request: Request,
    next: Next,
) -> Response {
    let named = params
        .iter()
        .find(|(name, _)| ["key", "job_id", "name"].contains(name))
        .map(|(_, named)| named.to_owned());
    // A future must not hold a reference to the body, which other threads cannot share.
    let wanted = route_and_user(&request);
    let checked = match wanted {
        Ok(Some((route, user))) => check_user(&core, route, user, named.as_deref()).await,
        Ok(None) => Ok(Passed::default()),
        Err(refusal) => Err(ApiFailure::Http(refusal)),
    };
    match checked {
        Ok(Passed { groups, right, role }) => {
            if let Some(groups) = groups {
                request.extensions_mut().insert(groups);
            }
            // What operators and owners may change in any case needs no word.
            let is_read = right == Right::Inspect;
            let noted = role.filter(|role| is_read || *role != Role::Operator);
            if let (Some(role), Some(remark)) = (noted, request.extensions().get::<AuditRemark>()) {
                remark.set_role(role);
            }
            let mut response = next.run(request).await;
            if let Some(role) = role.filter(|_| is_read) {
                response.extensions_mut().insert(ReadAs(role));
            }
            response
        }
        Err(refused) => refused.into_response(),
    }
}

/// A request that its user may make.
#[derive(Default)]
struct Passed {
    groups: Option<UserGroups>,
    right: Right,
    /// The role that gives a user who is not the owner the right to a job.
    role: Option<Role>,
}

/// A user, and the node that vouches for them.
type Named = (net::User, Option<String>);

/// Checks a request, and returns the groups of its user for the rest of it. They are looked up
/// after all other checks, because the user database may be slow.
async fn check_user(
    core: &Core,
    route: &Route,
    (mut user, node): Named,
    job: Option<&str>,
) -> Result<Passed, ApiFailure> {
    let access = core.access();
    if user.has_roles || node.is_some() && access.needs_groups_of_vouched() {
        user.groups = access.groups(Uid(user.uid)).await;
    }
    if let Some(node) = node {
        let checked = access.check_groups_of_vouched(&node, user.uid, user.groups.as_ref());
        checked.map_err(ApiFailure::Http)?;
    }
    let role = check_route(core, route, &user, job).await?;
    let role = role.filter(|role| !matches!(role, Role::User | Role::Owner));
    Ok(Passed { groups: user.groups, right: route.right, role })
}

/// The route and the user, if there is something to check.
fn route_and_user(request: &Request) -> Result<Option<(&'static Route, Named)>, net::Refusal> {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let path = path.ok_or_else(no_row_refusal)?;
    // axum answers HEAD by the route of GET.
    let method = match request.method().as_str() {
        "HEAD" => "GET",
        method => method,
    };
    let Some(route) = find_route(method, path) else {
        // The channels are for certificates.
        let is_channel = [NODE_PATH, PEER_PATH].contains(&path);
        return if is_channel { Ok(None) } else { Err(no_such_method(path)) };
    };
    if route.right == Right::Host {
        return Ok(None);
    }
    let caller = request.extensions().get::<ConnectInfo<Caller>>();
    let ConnectInfo(caller) = caller.ok_or(CallerError::Unknown)?;
    match net::caller_identity(caller, request.headers()) {
        Ok(user) => {
            let origin = Origin::of(request.extensions(), request.headers());
            Ok(Some((route, (user, origin.vouching_name().map(str::to_owned)))))
        }
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
) -> Result<Option<Role>, ApiFailure> {
    let actor = core.actor(user);
    if let Some(service) = named.filter(|_| route.path.starts_with("/v1/services/")) {
        check_service(core, &actor, service)?;
    }
    match named.filter(|_| route.names_job()) {
        Some(job) if route.right != Right::Operate => {
            check_job(core, &actor, job, route.right).await
        }
        // The state knows whose service or token it is.
        _ if route.right.depends_on_owner() => Ok(None),
        _ => Ok(check_role(&actor, route.right).map(|()| None)?),
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
) -> Result<Option<Role>, ApiFailure> {
    // What is no id is refused for that.
    let Ok(named) = named.parse::<JobKey>() else { return Ok(None) };
    if let Ok(role) = check_job_now(core, actor, named, right) {
        return Ok(Some(role));
    }
    // Another controller may have accepted or changed the job.
    core.wait_for_current_state().await?;
    Ok(Some(check_job_now(core, actor, named, right)?))
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
    let groups = core.access().groups(Uid(user.uid)).await;
    let user = net::User { groups, ..user.clone() };
    check_job_now(core, &core.actor(&user), key, action.right()).map(|_| ())
}

fn check_job_now(core: &Core, actor: &Actor, named: JobKey, right: Right) -> Result<Role, Refusal> {
    let viewer = core.viewer_of(actor);
    let state = core.state.read();
    let key = state.resolve_key(named);
    // A hidden job is answered as one that does not exist, also by how it was named.
    let seen = state.job(key.job).filter(|record| viewer.sees(record));
    let record = seen.ok_or(Refusal::UnknownJob { key: named })?;
    state.role_for(actor, record, right).ok_or_else(|| {
        let owner = record.spec.owner.name.clone();
        Refusal::NotYours { job: key.job, owner, right }
    })
}

/// The refusal of a method that the table does not have for this path.
fn no_such_method(path: &str) -> net::Refusal {
    if ROUTES.iter().all(|route| route.path != path) {
        return no_row_refusal();
    }
    let message = format!("{path} has no such method");
    net::Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "no_such_method", message)
}

/// Refuses a request that depends on jobs that its user does not see, as if they did not exist.
/// With private jobs this includes jobs that were forgotten: another answer would tell them apart.
///
/// # Errors
/// [`Refusal::UnknownJob`].
pub(super) fn check_dependencies(core: &Core, user: &net::User, ask: &Ask) -> Result<(), Refusal> {
    let Some(dependency) = &ask.dependency else { return Ok(()) };
    let viewer = core.viewer(user);
    if !viewer.hides_jobs() {
        return Ok(());
    }
    let state = core.state.read();
    let hidden = |key: &JobKey| !viewer.sees_key(&state, state.resolve_key(*key));
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
fn no_row_refusal() -> net::Refusal {
    let message = "this request is open to no user: its route is not in the table of rights";
    net::Refusal::new(StatusCode::FORBIDDEN, "no_right", message)
}
