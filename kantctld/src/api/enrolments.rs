//! Enrolment of nodes: invitations, certificates and their revocation. A node gets its first
//! certificate by an invitation and renews it by itself. Each controller can issue certificates,
//! because each has the cluster key.

use super::audited::AuditRemark;
use super::caller_check::check_certificate;
use super::controllers::{ForwardQuery, leader_client, relayed_refusal};
use super::error::ApiFailure;
use crate::core::Core;
use crate::raft::Status;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::id::NodeName;
use common::reason::{InvitationRefusal, Refusal};
use common::time::Span;
use common::wire::api::{
    EnrolRequest, EnrolmentList, EnrolmentView, InviteAnswer, IssuedCertificate, NodeInviteRequest,
    RenewRequest, Secret,
};
use net::{Caller, Client, Invitation, Role, User, secret_hash};
use state::invitation::Admits;
use state::{Command, Event};
use std::sync::Arc;
use std::time::Duration;

/// The lifetime of a node's certificate. A node renews it at half of that.
const CERTIFICATE_LIFETIME: Span = Span::from_seconds(30 * 86_400);
/// How long another controller waits for the leader's answer.
const LEADER_LIMIT: Duration = Duration::from_secs(20);

/// POST /v1/enrolments/invite
pub async fn invite(
    State(core): State<Arc<Core>>,
    user: User,
    body: Result<Json<NodeInviteRequest>, JsonRejection>,
) -> Result<Json<InviteAnswer>, ApiFailure> {
    let Json(NodeInviteRequest { lasts, names }) = body?;
    let admits = match names.is_empty() {
        true => Admits::AnyNode,
        false => Admits::Nodes(names.into_iter().collect()),
    };
    if let Admits::Nodes(names) = &admits {
        let unusable = names.iter().find_map(|name| net::check_node_name(name.as_str()).err());
        unusable.map_or(Ok(()), |error| Err(refused_name(&error)))?;
    }
    let address = core.peers.local.address.clone();
    make_invitation(&core, &user, (lasts, admits), address).await.map(Json)
}

/// Makes an invitation and notes its hash in the log.
///
/// # Errors
/// [`ApiFailure`].
pub async fn make_invitation(
    core: &Core,
    user: &User,
    (lasts, admits): (Span, Admits),
    address: String,
) -> Result<InviteAnswer, ApiFailure> {
    // An invitation names the authority that controllers show.
    super::cluster_key::check_no_rotation(core)?;
    let authority = core.keys.held_keys().authorities.fingerprint();
    let invitation = Invitation::new(authority).map_err(|error| defect(&error))?;
    let (actor, hash) = (core.actor(user), invitation.hash());
    let events = core.propose_command(Command::Invite { actor, hash, lasts, admits }).await?;
    let until = events.iter().find_map(|event| match event {
        Event::Invited { until, .. } => Some(*until),
        _ => None,
    });
    let until = until.ok_or_else(|| no_outcome("the invitation"))?;
    tracing::info!("an invitation until {until}, made by uid {}", user.uid);
    Ok(InviteAnswer { invitation: Secret(invitation.to_string()), until, address })
}

/// POST /v1/enrolments/join: a node's first certificate, by an invitation.
pub async fn enrol(
    State(core): State<Arc<Core>>,
    Query(asked): Query<ForwardQuery>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<EnrolRequest>, JsonRejection>,
) -> Result<Json<IssuedCertificate>, Response> {
    let peers = &core.peers;
    let Json(request) = body.map_err(|error| ApiFailure::from(error).into_response())?;
    remark.set_target(&request.name);
    let status: Status = peers.log.status().borrow().clone();
    if !status.leads {
        let leader = leader_client(peers, &status, LEADER_LIMIT).filter(|_| !asked.here);
        let leader: Client =
            leader.ok_or_else(|| super::leader::no_leader_refusal().into_response())?;
        let answer = leader.post(&format!("{}?here=true", super::ENROL_PATH), &request).await;
        return answer.map(Json).map_err(|error| relayed_refusal(error).into_response());
    }
    let EnrolRequest { secret, name, key: public } = request;
    // Before the invitation is used up.
    let public_key = read_key(&public).map_err(IntoResponse::into_response)?;
    let is_for_node = |admits: &Admits| match admits {
        Admits::Controller => false,
        Admits::AnyNode => !core.access().is_submit_host(name.as_str()),
        Admits::Nodes(_) => true,
    };
    check_invited(&core, &secret.0, is_for_node).map_err(IntoResponse::into_response)?;
    net::check_node_name(name.as_str()).map_err(|error| refused_name(&error).into_response())?;
    let hash = secret_hash(&secret.0);
    let command = Command::EnrolNode { hash, name: name.clone(), key: public };
    let events = core.propose_command(command).await;
    let events = events.map_err(|error| ApiFailure::from(error).into_response())?;
    let number = events.iter().find_map(|event| match event {
        Event::NodeEnrolled { number, .. } => Some(*number),
        _ => None,
    });
    let number = number.ok_or_else(|| no_outcome("the enrolment").into_response())?;
    tracing::info!("node {name} was enrolled, number {number}");
    issue(&core, (&name, number), &public_key).map_err(IntoResponse::into_response)
}

/// Checks that there is an open invitation with this secret, before anything is written to the log.
///
/// # Errors
/// The refusal of an unknown invitation, also if there is one for another purpose.
pub fn check_invited(
    core: &Core,
    secret: &str,
    fits: impl FnOnce(&Admits) -> bool,
) -> Result<(), ApiFailure> {
    let state = core.state.read();
    match state.invitation(&secret_hash(secret)).filter(|found| fits(&found.admits)) {
        Some(_) => Ok(()),
        None => Err(Refusal::from(InvitationRefusal::Unknown).into()),
    }
}

/// POST /v1/enrolments/renew: a node's next certificate.
pub async fn renew(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<RenewRequest>, JsonRejection>,
) -> Result<Json<IssuedCertificate>, ApiFailure> {
    let forwarded = headers.contains_key(net::USER_HEADER);
    let (Caller::Peer(Role::Node { name, enrolment }), false) = (caller, forwarded) else {
        let message = "this is for node daemons, which authenticate by TLS";
        let refusal = net::Refusal::new(StatusCode::FORBIDDEN, "not_a_node", message);
        return Err(ApiFailure::Http(refusal));
    };
    remark.set_target(&name);
    let public = read_key(&body?.0.key)?;
    let name = NodeName::new(name)?;
    // Also checked for each request: here it decides what is issued.
    check_certificate(&core, name.as_str(), enrolment).map_err(ApiFailure::Http)?;
    if !core.state.read().may_renew(&name, enrolment) {
        let message = format!("node {name} has not joined with an invitation");
        let refusal = net::Refusal::new(StatusCode::FORBIDDEN, "not_enrolled", message);
        let hint = format!("an operator runs `kantctl admin node invite {name}`");
        return Err(ApiFailure::Http(refusal.with_hint(hint)));
    }
    issue(&core, (&name, enrolment), &public)
}

/// GET /v1/enrolments
pub async fn list(
    State(core): State<Arc<Core>>,
    _user: User,
) -> Result<Json<EnrolmentList>, ApiFailure> {
    let state = core.state.read();
    let enrolments = state.enrolments().map(|(name, enrolment)| EnrolmentView {
        name: name.clone(),
        number: enrolment.number,
        by: enrolment.by,
        at: enrolment.at,
        revoked_at: enrolment.revoked.map(|revoked| revoked.at),
        revoked_by: enrolment.revoked.map(|revoked| revoked.by),
    });
    Ok(Json(EnrolmentList { enrolments: enrolments.collect() }))
}

/// POST /v1/enrolments/{name}/revoke
pub async fn revoke(
    State(core): State<Arc<Core>>,
    user: User,
    Path(name): Path<String>,
) -> Result<Json<EnrolmentList>, ApiFailure> {
    let (actor, name) = (core.actor(&user), NodeName::new(name)?);
    core.propose_command(Command::RevokeNode { actor, name: name.clone() }).await?;
    tracing::warn!("the certificates of node {name} were revoked by uid {}", user.uid);
    let Json(mut list) = list(State(core), user).await?;
    list.enrolments.retain(|one| one.name == name);
    Ok(Json(list))
}

fn issue(
    core: &Core,
    node: (&NodeName, u32),
    public: &net::PublicKey,
) -> Result<Json<IssuedCertificate>, ApiFailure> {
    let now = core.now();
    let period = (now, now + CERTIFICATE_LIFETIME);
    let issued = core.keys.held_keys().authorities.issue(node, public, period);
    issued.map(Json).map_err(|error| defect(&error))
}

fn read_key(text: &str) -> Result<net::PublicKey, ApiFailure> {
    net::parse_public_key(text).ok_or_else(|| {
        let message = "the public key must be 32 bytes in hex (Ed25519)";
        ApiFailure::Http(net::Refusal::new(StatusCode::BAD_REQUEST, "bad_key", message))
    })
}

fn no_outcome(what: &str) -> ApiFailure {
    let message = format!("the controller did not report the outcome of {what}: try again");
    ApiFailure::Refused(Refusal::BadAsk { message })
}

fn refused_name(error: &net::IdentityError) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(StatusCode::BAD_REQUEST, "bad_id", error.to_string()))
}

fn defect(error: &dyn std::error::Error) -> ApiFailure {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    ApiFailure::Http(net::Refusal::new(status, "defect", error.to_string()))
}
