//! The controllers: how they stand, taking one in, and changing their parts; and the door for the
//! others. Never lets anybody but an operator, or a controller by its certificate, in.

mod invite;
mod join;
mod view;

use super::audited::Remark;
use super::error::ApiFailure;
use crate::core::{CommandError, Core};
use crate::machine::StateMachine;
use crate::peers::{self, Peers};
use crate::raft::{Change, ChangeRefusal, Members, ProposeError, Status};
use axum::extract::rejection::JsonRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::id::{ControllerId, Uid};
use common::wire::api::{ControllerList, ControllerView, JoinAnswer, JoinRequest};
pub use invite::invite;
use join::{check_join, take_in};
use net::{Caller, Client, Endpoint, Role, User};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use view::view;

/// How long a change of members that is under way is waited for before another.
const CHANGE_LIMIT: Duration = Duration::from_secs(5);
const CHANGE_PAUSE: Duration = Duration::from_millis(100);
/// How long the lead may take to change hands.
const TRANSFER_LIMIT: Duration = Duration::from_secs(3);
/// The leader may be gone: then this controller says what it knows itself.
const LEADER_LIMIT: Duration = Duration::from_secs(2);

type OurPeers = Arc<Peers<StateMachine>>;

/// Whether a question may be passed on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Where {
    /// Only this controller is asked.
    here: bool,
}

/// GET of the peers' channel: for controllers.
pub async fn channel(
    Extension(peers): Extension<OurPeers>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    match is_controller(&caller, &headers) {
        true => peers::serve(peers, upgrade),
        false => not_a_controller().into_response(),
    }
}

/// GET /v1/controllers: as the leader sees them if it answers, else as this one does.
pub async fn list(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    caller: Caller,
    headers: HeaderMap,
    Query(asked): Query<Where>,
) -> Result<Json<ControllerList>, Response> {
    if !is_controller(&caller, &headers) {
        let user = net::caller_identity(&caller, &headers).map_err(IntoResponse::into_response)?;
        check_operator(&core, &user).map_err(IntoResponse::into_response)?;
    }
    let status = peers.log.status().borrow().clone();
    let mut list = match asked.here {
        true => view(&status),
        false => as_led(&peers, &status).await,
    };
    let me = &peers.me;
    let is_moving = |one: &ControllerView| one.id == me.id && one.address != me.address;
    if !me.address.is_empty() && list.controllers.iter().any(is_moving) {
        list.moving.push(me.id);
    }
    Ok(Json(list))
}

/// As the leader sees them if it answers, else as this one does.
async fn as_led(peers: &Peers<StateMachine>, status: &Status) -> ControllerList {
    match leader(peers, status, LEADER_LIMIT).filter(|_| !status.leads) {
        Some(leader) => leader.get("/v1/controllers?here=true").await.ok(),
        None => None,
    }
    .unwrap_or_else(|| view(status))
}

/// POST /v1/controllers: another controller wants to be one of this cluster.
pub async fn join(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    caller: Caller,
    headers: HeaderMap,
    Query(asked): Query<Where>,
    Extension(remark): Extension<Remark>,
    body: Result<Json<JoinRequest>, JsonRejection>,
) -> Result<Json<JoinAnswer>, Response> {
    if !is_controller(&caller, &headers) {
        return Err(not_a_controller().into_response());
    }
    let Json(request) = body.map_err(|error| ApiFailure::from(error).into_response())?;
    remark.target(&request.address);
    let status = peers.log.status().borrow().clone();
    if !status.leads {
        let leader = leader(&peers, &status, CHANGE_LIMIT * 4).filter(|_| !asked.here);
        let leader = leader.ok_or_else(|| super::leader::no_leader().into_response())?;
        let answer = leader.post("/v1/controllers?here=true", &request).await;
        return answer.map(Json).map_err(|error| passed_back(error).into_response());
    }
    check_join(&peers, &request).map_err(IntoResponse::into_response)?;
    let id = take_in(&core, &peers, request).await.map_err(IntoResponse::into_response)?;
    let release = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(JoinAnswer { cluster: peers.me.cluster, id, release }))
}

/// POST /v1/controllers/{id}/promote
pub async fn promote(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    check_operator(&core, &user)?;
    let id = ControllerId(id);
    change(&peers, vec![Change::Promote(id)]).await?;
    Ok(Json(seen(&peers, |members| members.votes(id)).await))
}

/// POST /v1/controllers/{id}/remove
pub async fn remove(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    check_operator(&core, &user)?;
    let id = ControllerId(id);
    change(&peers, vec![Change::Remove(id)]).await?;
    Ok(Json(seen(&peers, |members| !members.has(id)).await))
}

/// POST /v1/controllers/{id}/transfer: that one is to lead.
pub async fn transfer(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    check_operator(&core, &user)?;
    let to = ControllerId(id);
    let mut status = peers.log.status();
    let (is_known, votes) = {
        let status = status.borrow();
        (status.members.has(to), status.members.votes(to))
    };
    if !is_known {
        return Err(refused(ChangeRefusal::Unknown(to)));
    }
    if !votes {
        let message = format!("controller {to} does not vote, so it cannot lead: promote it first");
        return Err(ApiFailure::Said(net::Refusal::new(StatusCode::CONFLICT, "no_vote", message)));
    }
    peers.log.transfer(Some(to)).await;
    let took_over = status.wait_for(|status| status.leader == Some(to));
    let took_over = tokio::time::timeout(TRANSFER_LIMIT, took_over).await;
    match took_over.map(|status| status.map(|status| status.clone())) {
        Ok(Ok(status)) => Ok(Json(as_led(&peers, &status).await)),
        Ok(Err(_)) => Err(CommandError::NotTaken(ProposeError::Stopped).into()),
        Err(_) => {
            let message =
                format!("controller {to} did not take the lead: is it up, and caught up?");
            let refusal = net::Refusal::new(StatusCode::CONFLICT, "not_taken_over", message);
            Err(ApiFailure::Said(refusal.hint("`kantctl admin controller status` shows it")))
        }
    }
}

/// A certificate of a controller, and no user that it speaks for.
fn is_controller(caller: &Caller, headers: &HeaderMap) -> bool {
    *caller == Caller::Peer(Role::Controller) && !headers.contains_key(net::USER_HEADER)
}

fn not_a_controller() -> net::Refusal {
    let message = "this is for controllers, which prove themselves by TLS";
    net::Refusal::new(StatusCode::FORBIDDEN, "not_a_controller", message)
}

fn check_operator(core: &Core, user: &User) -> Result<(), ApiFailure> {
    match core.actor(Uid(user.uid)).operator {
        true => Ok(()),
        false => {
            let message = "controllers are the operators' business: ask one of those named in \
                           `admins` in kantctld.toml";
            let refusal = net::Refusal::new(StatusCode::FORBIDDEN, "operators_only", message);
            Err(ApiFailure::Said(refusal))
        }
    }
}

fn leader(peers: &Peers<StateMachine>, status: &Status, limit: Duration) -> Option<Client> {
    let member = status.members.known.get(&status.leader.filter(|id| *id != status.id)?)?;
    let endpoint = Endpoint::Tls { addr: member.address.clone(), identity: peers.identity.clone() };
    Some(Client::new(endpoint).with_connect_limit(LEADER_LIMIT).with_answer_limit(Some(limit)))
}

/// The leader's refusal as it was given; no answer as a failure to reach it.
fn passed_back(error: net::ClientError) -> net::Refusal {
    match error {
        net::ClientError::Refused { status, error } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            net::Refusal { status, error }
        }
        error => {
            let message = crate::settings::with_causes(&error);
            net::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, super::leader::NO_LEADER, message)
        }
    }
}

/// Makes changes, as one, after the one under way if there is one.
async fn change(
    peers: &Peers<StateMachine>,
    changes: Vec<Change>,
) -> Result<Option<ControllerId>, ApiFailure> {
    let begun = Instant::now();
    loop {
        match peers.log.change(changes.clone()).await {
            Err(ProposeError::Change(ChangeRefusal::UnderWay))
                if begun.elapsed() < CHANGE_LIMIT =>
            {
                tokio::time::sleep(CHANGE_PAUSE).await;
            }
            changed => return changed.map_err(|error| CommandError::NotTaken(error).into()),
        }
    }
}

/// How the controllers stand once a change shows, and is over: whoever asked for it is not shown
/// the members before, nor both majorities of a joint configuration.
async fn seen(peers: &Peers<StateMachine>, shows: impl Fn(&Members) -> bool) -> ControllerList {
    let mut status = peers.log.status();
    let is_over = |status: &Status| shows(&status.members) && !status.members.is_joint();
    // It is in force all the same.
    let _ = tokio::time::timeout(CHANGE_LIMIT, status.wait_for(is_over)).await;
    view(&status.borrow())
}

fn refused(why: ChangeRefusal) -> ApiFailure {
    CommandError::NotTaken(ProposeError::Change(why)).into()
}
