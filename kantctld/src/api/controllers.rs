//! Requests about controllers: their status, a join, changes of members, and the channel between
//! controllers. Open to operators and to controllers with a certificate, the join also to a host
//! with an invitation.

mod invite;
mod join;
mod view;

use super::audited::AuditRemark;
use super::error::ApiFailure;
use crate::core::{CommandError, Core};
use crate::peers::{self, Peers};
use crate::raft::{Change, ChangeRefusal, Members, ProposeError, Status};
use crate::state_machine::StateMachine;
use axum::extract::rejection::JsonRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::causes::with_causes;
use common::id::ControllerId;
use common::wire::api::{ControllerList, ControllerView, JoinAnswer, JoinRequest, Secret};
pub use invite::invite;
use join::{accept, check_join};
use net::{Caller, Client, Endpoint, Role, User};
use serde::Deserialize;
use state::invitation::Admits;
use std::sync::Arc;
use std::time::{Duration, Instant};
use view::view;

/// How long to wait for a change of members in progress before another.
const CHANGE_LIMIT: Duration = Duration::from_secs(5);
const CHANGE_PAUSE: Duration = Duration::from_millis(100);
/// The longest wait for a transfer of leadership.
const TRANSFER_LIMIT: Duration = Duration::from_secs(3);
/// If the leader does not answer within this time, this controller answers itself.
const LEADER_LIMIT: Duration = Duration::from_secs(2);

/// Whether a request may be forwarded.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ForwardQuery {
    /// Answer from this controller only.
    pub here: bool,
}

/// GET of the channel between controllers.
pub async fn channel(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    match is_controller(&caller, &headers) {
        true => peers::serve(core.peers.clone(), upgrade),
        false => not_controller_refusal().into_response(),
    }
}

/// GET /v1/controllers: as seen by the leader, or by this controller if the leader does not answer.
pub async fn list(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
    Query(asked): Query<ForwardQuery>,
) -> Result<Json<ControllerList>, Response> {
    let peers = &core.peers;
    if !is_controller(&caller, &headers) {
        net::caller_identity(&caller, &headers).map_err(IntoResponse::into_response)?;
    }
    let status = peers.log.status().borrow().clone();
    let mut list = match asked.here {
        true => view(&status),
        false => leaders_view(peers, &status).await,
    };
    let local = &peers.local;
    let is_moving = |one: &ControllerView| one.id == local.id && one.address != local.address;
    if !local.address.is_empty() && list.controllers.iter().any(is_moving) {
        list.moving.push(local.id);
    }
    Ok(Json(list))
}

/// The controllers as seen by the leader, or by this controller if the leader does not answer.
async fn leaders_view(peers: &Peers<StateMachine>, status: &Status) -> ControllerList {
    match leader_client(peers, status, LEADER_LIMIT).filter(|_| !status.leads) {
        Some(leader) => leader.get("/v1/controllers?here=true").await.ok(),
        None => None,
    }
    .unwrap_or_else(|| view(status))
}

/// POST /v1/controllers: another controller joins the cluster.
pub async fn join(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
    Query(asked): Query<ForwardQuery>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<JoinRequest>, JsonRejection>,
) -> Result<Json<JoinAnswer>, Response> {
    let peers = &core.peers;
    if !is_controller(&caller, &headers) && !matches!(caller, Caller::Stranger(_)) {
        return Err(not_controller_refusal().into_response());
    }
    let Json(request) = body.map_err(|error| ApiFailure::from(error).into_response())?;
    remark.set_target(&request.address);
    let status = peers.log.status().borrow().clone();
    if !status.leads {
        let leader = leader_client(peers, &status, CHANGE_LIMIT * 4).filter(|_| !asked.here);
        let leader = leader.ok_or_else(|| super::leader::no_leader_refusal().into_response())?;
        let answer = leader.post("/v1/controllers?here=true", &request).await;
        return answer.map(Json).map_err(|error| relayed_refusal(error).into_response());
    }
    // First: a host without an invitation gets nothing else, and writes nothing to the log.
    super::enrolments::check_invited(&core, &request.invitation.0, |admits| {
        *admits == Admits::Controller
    })
    .map_err(IntoResponse::into_response)?;
    super::cluster_key::check_no_rotation(&core).map_err(IntoResponse::into_response)?;
    let in_force = core.state.read().rules_level();
    check_join(peers, in_force, &request).map_err(IntoResponse::into_response)?;
    let id = accept(&core, peers, request).await.map_err(IntoResponse::into_response)?;
    let release = crate::release::RELEASE.to_owned();
    let key = Secret(core.keys.held_keys().keys.issuing.secret());
    Ok(Json(JoinAnswer { cluster: peers.local.cluster, id, release, key }))
}

/// POST /v1/controllers/{id}/promote
pub async fn promote(
    State(core): State<Arc<Core>>,
    _user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    let peers = &core.peers;
    let id = ControllerId(id);
    change_members(peers, vec![Change::Promote(id)]).await?;
    Ok(Json(list_after_change(peers, |members| members.votes(id)).await))
}

/// POST /v1/controllers/{id}/remove
pub async fn remove(
    State(core): State<Arc<Core>>,
    _user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    let peers = &core.peers;
    let id = ControllerId(id);
    change_members(peers, vec![Change::Remove(id)]).await?;
    Ok(Json(list_after_change(peers, |members| !members.has(id)).await))
}

/// POST /v1/controllers/{id}/transfer: makes that controller the leader.
pub async fn transfer(
    State(core): State<Arc<Core>>,
    _user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    let peers = &core.peers;
    let to = ControllerId(id);
    let mut status = peers.log.status();
    let (is_known, votes) = {
        let status = status.borrow();
        (status.members.has(to), status.members.votes(to))
    };
    if !is_known {
        return Err(change_refusal(ChangeRefusal::Unknown(to)));
    }
    if !votes {
        let message = format!("controller {to} does not vote and cannot lead: promote it first");
        return Err(ApiFailure::Http(net::Refusal::new(StatusCode::CONFLICT, "no_vote", message)));
    }
    peers.log.transfer_leadership(Some(to)).await;
    let transferred = status.wait_for(|status| status.leader == Some(to));
    let transferred = tokio::time::timeout(TRANSFER_LIMIT, transferred).await;
    match transferred.map(|status| status.map(|status| status.clone())) {
        Ok(Ok(status)) => Ok(Json(leaders_view(peers, &status).await)),
        Ok(Err(_)) => Err(CommandError::NotTaken(ProposeError::Stopped).into()),
        Err(_) => {
            let message =
                format!("controller {to} did not take over leadership: is it up and caught up?");
            let refusal = net::Refusal::new(StatusCode::CONFLICT, "not_taken_over", message);
            Err(ApiFailure::Http(refusal.with_hint("`kantctl admin controller status` shows it")))
        }
    }
}

/// Whether the caller is a controller that does not act for a user.
pub(super) fn is_controller(caller: &Caller, headers: &HeaderMap) -> bool {
    *caller == Caller::Peer(Role::Controller) && !headers.contains_key(net::USER_HEADER)
}

pub(super) fn not_controller_refusal() -> net::Refusal {
    let message = "this is for controllers, which authenticate by TLS";
    net::Refusal::new(StatusCode::FORBIDDEN, "not_a_controller", message)
}

pub fn leader_client(
    peers: &Peers<StateMachine>,
    status: &Status,
    limit: Duration,
) -> Option<Client> {
    let member = status.members.known.get(&status.leader.filter(|id| *id != status.id)?)?;
    let endpoint = Endpoint::Tls { addr: member.address.clone(), identity: peers.identity.clone() };
    Some(Client::new(endpoint).with_connect_limit(LEADER_LIMIT).with_answer_limit(Some(limit)))
}

/// The leader's refusal unchanged; any other error as a failure to reach it.
pub fn relayed_refusal(error: net::ClientError) -> net::Refusal {
    match error {
        net::ClientError::Refused { status, error } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            net::Refusal { status, error }
        }
        error => {
            let message = with_causes(&error);
            net::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, super::leader::NO_LEADER, message)
        }
    }
}

/// Makes all changes at once, after a change in progress.
async fn change_members(
    peers: &Peers<StateMachine>,
    changes: Vec<Change>,
) -> Result<Option<ControllerId>, ApiFailure> {
    let begun = Instant::now();
    loop {
        match peers.log.change_members(changes.clone()).await {
            Err(ProposeError::Change(ChangeRefusal::UnderWay))
                if begun.elapsed() < CHANGE_LIMIT =>
            {
                tokio::time::sleep(CHANGE_PAUSE).await;
            }
            changed => return changed.map_err(|error| CommandError::NotTaken(error).into()),
        }
    }
}

/// The controllers once a change shows and is complete, so that the answer has neither the old
/// members nor both majorities of a joint configuration.
async fn list_after_change(
    peers: &Peers<StateMachine>,
    shows: impl Fn(&Members) -> bool,
) -> ControllerList {
    let mut status = peers.log.status();
    let is_over = |status: &Status| shows(&status.members) && !status.members.is_joint();
    // After the timeout the change is in force all the same.
    let _ = tokio::time::timeout(CHANGE_LIMIT, status.wait_for(is_over)).await;
    view(&status.borrow())
}

fn change_refusal(why: ChangeRefusal) -> ApiFailure {
    CommandError::NotTaken(ProposeError::Change(why)).into()
}
