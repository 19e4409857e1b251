//! Views of nodes, queues and the controller, drain and resume of nodes, and the channel of node
//! daemons, which needs a node's certificate.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use crate::session::{self, Certified, NodeRules, NodeThreads};
use axum::extract::rejection::JsonRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::id::NodeName;
use common::reason::Refusal;
use common::wire::api::{ChangedNodes, ClusterMap, DrainRequest, NodeList, QueueList, Status};
use net::{Caller, Keepalive, Role};
use query::view;
use state::{Actor, Command};
use std::sync::Arc;

/// GET /v1/nodes
pub async fn list(State(core): State<Arc<Core>>, user: net::User) -> Result<Response, ApiFailure> {
    let (now, viewer) = (core.now(), core.viewer(&user));
    let view = move |state: &_| Ok(NodeList { as_of: now, ..view::node_list(state, &viewer) });
    slow_query::respond_json(&core, user.uid, view).await
}

/// GET /v1/map
pub async fn map(State(core): State<Arc<Core>>, user: net::User) -> Result<Response, ApiFailure> {
    let (now, viewer) = (core.now(), core.viewer(&user));
    let view = move |state: &_| Ok(ClusterMap { as_of: now, ..view::cluster_map(state, &viewer) });
    slow_query::respond_json(&core, user.uid, view).await
}

/// GET /v1/nodes/{name}
pub async fn show(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<NodeList>, ApiFailure> {
    let (name, viewer): (NodeName, _) = (name.parse()?, core.viewer(&user));
    let node = view::node_view(&core.state.read(), &viewer, &name);
    let node = node.ok_or(Refusal::UnknownNode { name })?;
    Ok(Json(NodeList { nodes: vec![node], as_of: core.now() }))
}

/// POST /v1/nodes/{name}/drain
pub async fn drain(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<DrainRequest>, JsonRejection>,
) -> Result<Json<ChangedNodes>, ApiFailure> {
    let Json(request) = body?;
    remark.set_detail(&request.reason);
    let (actor, name): (_, NodeName) = (core.actor(&user), name.parse()?);
    let nodes = vec![name.clone()];
    core.propose_command(drain_command(actor, name, request.reason)).await?;
    Ok(Json(ChangedNodes { nodes }))
}

/// In the next release, a reason may have a note behind a bar.
#[cfg(feature = "next-rules")]
fn drain_command(actor: Actor, name: NodeName, reason: String) -> Command {
    match reason.split_once('|') {
        None => Command::DrainNode { actor, name, reason },
        Some((reason, note)) => {
            let (reason, note) = (reason.to_owned(), note.to_owned());
            Command::DrainWithNote { actor, name, reason, note }
        }
    }
}

#[cfg(not(feature = "next-rules"))]
const fn drain_command(actor: Actor, name: NodeName, reason: String) -> Command {
    Command::DrainNode { actor, name, reason }
}

/// POST /v1/nodes/{name}/resume
pub async fn resume(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(name): Path<String>,
) -> Result<Json<ChangedNodes>, ApiFailure> {
    let (actor, name): (_, NodeName) = (core.actor(&user), name.parse()?);
    let nodes = vec![name.clone()];
    core.propose_command(Command::ResumeNode { actor, name }).await?;
    Ok(Json(ChangedNodes { nodes }))
}

/// GET /v1/queues
pub async fn queues(
    State(core): State<Arc<Core>>,
    user: net::User,
) -> Result<Json<QueueList>, ApiFailure> {
    Ok(Json(slow_query::run(&core, user.uid, view::queue_list).await?))
}

/// GET /v1/status
pub async fn status(State(core): State<Arc<Core>>, _user: net::User) -> Json<Status> {
    let counts = view::counts(&core.state.read());
    Json(Status {
        cluster: core.cluster_name(),
        version: crate::release::RELEASE.to_owned(),
        leader: *core.leading.borrow(),
        led_by: core.standing.borrow().leader,
        applied: core.applied.borrow().0,
        jobs_pending: counts.jobs_pending,
        jobs_running: counts.jobs_running,
        jobs_done: counts.jobs_done,
        nodes_connected: counts.nodes_connected,
        nodes: counts.nodes,
        audit_trouble: core.audit.trouble(),
    })
}

/// GET of the node channel, for daemons with a node's certificate. If this controller does not
/// lead, the session redirects to the leader.
pub async fn channel(
    State(core): State<Arc<Core>>,
    Extension(rules): Extension<NodeRules>,
    Extension(NodeThreads(on)): Extension<NodeThreads>,
    caller: Caller,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    // A request that a node forwards for a user is the user's, not the node's.
    let vouched = headers.contains_key(net::USER_HEADER);
    let (Caller::Peer(Role::Node { name, enrolment }), false) = (caller, vouched) else {
        let message = "the node channel is for node daemons, which authenticate by TLS";
        return net::Refusal::new(StatusCode::FORBIDDEN, "not_a_node", message).into_response();
    };
    let certified = match NodeName::new(name) {
        Ok(name) => Certified { name, enrolment },
        Err(error) => return ApiFailure::BadId(error).into_response(),
    };
    net::accept_channel(upgrade, Keepalive::default(), on, move |channel| {
        session::serve(core, certified, rules, channel)
    })
}
