//! The controllers: how they stand, taking one in, and changing their parts; and the door for the
//! others. Never lets anybody but an operator, or a controller by its certificate, in.

use super::error::ApiFailure;
use crate::clock::wall_clock;
use crate::core::{CommandError, Core};
use crate::machine::StateMachine;
use crate::membership::is_reachable;
use crate::peers::{self, Peers, clocks_agree};
use crate::raft::{Change, ChangeRefusal, Member, ProposeError, Status};
use axum::extract::rejection::JsonRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::id::{ControllerId, LogIndex, Uid};
use common::wire::api::{
    ControllerList, ControllerRole, ControllerView, JoinAnswer, JoinRequest,
};
use common::wire::peer::PEER_PROTOCOL;
use net::{Caller, Client, Endpoint, Role, User};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    if !status.leads
        && !asked.here
        && let Some(leader) = leader(&peers, &status, LEADER_LIMIT)
        && let Ok(list) = leader.get("/v1/controllers?here=true").await
    {
        return Ok(Json(list));
    }
    Ok(Json(view(&status)))
}

/// POST /v1/controllers: another controller wants to be one of this cluster.
pub async fn join(
    Extension(peers): Extension<OurPeers>,
    caller: Caller,
    headers: HeaderMap,
    Query(asked): Query<Where>,
    body: Result<Json<JoinRequest>, JsonRejection>,
) -> Result<Json<JoinAnswer>, Response> {
    if !is_controller(&caller, &headers) {
        return Err(not_a_controller().into_response());
    }
    let Json(request) = body.map_err(|error| ApiFailure::from(error).into_response())?;
    let status = peers.log.status().borrow().clone();
    if !status.leads {
        let leader = leader(&peers, &status, CHANGE_LIMIT * 4).filter(|_| !asked.here);
        let leader = leader.ok_or_else(|| super::leader::no_leader().into_response())?;
        let answer = leader.post("/v1/controllers?here=true", &request).await;
        return answer.map(Json).map_err(|error| passed_back(error).into_response());
    }
    check_join(&peers, &request).map_err(IntoResponse::into_response)?;
    let id = take_in(&peers, request).await.map_err(IntoResponse::into_response)?;
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
    change(&peers, Change::Promote(ControllerId(id))).await?;
    Ok(Json(view(&peers.log.status().borrow())))
}

/// POST /v1/controllers/{id}/remove
pub async fn remove(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    user: User,
    Path(id): Path<u64>,
) -> Result<Json<ControllerList>, ApiFailure> {
    check_operator(&core, &user)?;
    change(&peers, Change::Remove(ControllerId(id))).await?;
    Ok(Json(view(&peers.log.status().borrow())))
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
    match tokio::time::timeout(TRANSFER_LIMIT, took_over).await {
        Ok(Ok(status)) => Ok(Json(view(&status))),
        Ok(Err(_)) => Err(CommandError::NotTaken(ProposeError::Stopped).into()),
        Err(_) => {
            let message = format!("controller {to} did not take the lead: is it up, and caught up?");
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
    let endpoint =
        Endpoint::Tls { addr: member.address.clone(), identity: peers.identity.clone() };
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

fn check_join(peers: &Peers<StateMachine>, request: &JoinRequest) -> Result<(), net::Refusal> {
    let now = wall_clock();
    let ours = env!("CARGO_PKG_VERSION");
    let refuse = |code: &str, message: String| {
        Err(net::Refusal::new(StatusCode::CONFLICT, code, message))
    };
    if request.protocol != PEER_PROTOCOL {
        let (release, theirs) = (&request.release, request.protocol);
        return refuse(
            "other_protocol",
            format!(
                "kantctld {release} speaks protocol {theirs} with controllers, kantctld {ours} of \
                 this cluster {PEER_PROTOCOL}: install one release on both"
            ),
        );
    }
    if let Some(theirs) = request.cluster.filter(|cluster| *cluster != peers.me.cluster) {
        let ours = peers.me.cluster;
        return refuse(
            "other_cluster",
            format!("it was of cluster {theirs}, and this is {ours}: ask one of its own"),
        );
    }
    if !clocks_agree(request.now, now) {
        return refuse(
            "clock",
            format!(
                "its clock says {}, that of the cluster's leader {now}: mend NTP on the one that \
                 is wrong",
                request.now
            ),
        );
    }
    let own = &peers.me.address;
    for address in [&request.address, own].into_iter().filter(|a| !is_reachable(a)) {
        return refuse(
            "unreachable",
            format!(
                "controllers cannot reach each other at `{address}`: write `advertise` in \
                 kantctld.toml there, and restart it if it runs"
            ),
        );
    }
    Ok(())
}

async fn take_in(
    peers: &Peers<StateMachine>,
    request: JoinRequest,
) -> Result<ControllerId, ApiFailure> {
    let status = peers.log.status().borrow().clone();
    if let Some(old) = request.replaces.filter(|old| status.members.has(*old)) {
        change(peers, Change::Remove(old)).await?;
        tracing::info!("controller {old} gave its number up: its log is lost");
    }
    // An answer that was lost is given again, as long as nobody has lived under that number.
    let waits = status.followers.iter().find(|follower| {
        let member = status.members.known.get(&follower.id);
        follower.holds == LogIndex(0)
            && status.members.learns(follower.id)
            && member.is_some_and(|member| member.address == request.address)
    });
    if let Some(waits) = waits {
        return Ok(waits.id);
    }
    let JoinRequest { name, address, learner, .. } = request;
    let said = format!("{name} at {address}");
    let member = Member { name, address, becomes_voter: !learner };
    let given = change(peers, Change::Add(member)).await?;
    let id = given.ok_or(CommandError::NotTaken(ProposeError::Unknown))?;
    tracing::info!("controller {id} joins: {said}");
    Ok(id)
}

/// Makes a change, after the one under way if there is one.
async fn change(
    peers: &Peers<StateMachine>,
    change: Change,
) -> Result<Option<ControllerId>, ApiFailure> {
    let begun = Instant::now();
    loop {
        match peers.log.change(vec![change.clone()]).await {
            Err(ProposeError::Change(ChangeRefusal::UnderWay))
                if begun.elapsed() < CHANGE_LIMIT =>
            {
                tokio::time::sleep(CHANGE_PAUSE).await;
            }
            changed => return changed.map_err(|error| CommandError::NotTaken(error).into()),
        }
    }
}

fn refused(why: ChangeRefusal) -> ApiFailure {
    CommandError::NotTaken(ProposeError::Change(why)).into()
}

/// How they stand, as one of them sees it.
fn view(status: &Status) -> ControllerList {
    let one = |(id, member): (&ControllerId, &Member)| {
        let follower = status.followers.iter().find(|follower| follower.id == *id);
        let is_me = *id == status.id;
        let holds = follower.map(|f| f.holds).or(is_me.then_some(status.last));
        let role = match (status.members.votes(*id), member.becomes_voter) {
            (true, _) if status.leader == Some(*id) => ControllerRole::Leader,
            (true, _) => ControllerRole::Voter,
            (false, true) => ControllerRole::Joining,
            (false, false) => ControllerRole::Learner,
        };
        ControllerView {
            id: *id,
            name: member.name.clone(),
            address: member.address.clone(),
            role,
            holds,
            behind: holds.map(|holds| status.committed.0.saturating_sub(holds.0)),
            heard: follower.map(|f| f.is_heard).or(is_me.then_some(true)),
            gets_snapshot: follower.is_some_and(|f| f.gets_snapshot),
        }
    };
    ControllerList {
        cluster: status.members.cluster,
        answering: status.id,
        leader: status.leader,
        term: status.term,
        committed: status.committed,
        changing: status.members.is_joint(),
        controllers: status.members.known.iter().map(one).collect(),
    }
}
