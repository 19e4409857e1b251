//! The replacement of the cluster key: by operators on the leader's local socket, and between
//! controllers, which alone exchange keys.

use super::controllers::{check_operator, is_controller, not_a_controller};
use super::error::ApiFailure;
use crate::cluster_keys::authority;
use crate::core::Core;
use crate::key_rotation::{self, OFFER_PATH};
use crate::session::{NodeKind, NodeRules};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use common::causes::with_causes;
use common::reason::{KeyRotationRefusal, Refusal};
use common::wire::api::{ClusterKeyView, HeldKeys, KeyGeneration, KeyOffer, Secret};
use net::{Caller, ClusterKey, User};
use state::Command;
use state::command::KeyAction;
use std::sync::Arc;

/// GET /v1/cluster-key
pub async fn show(
    State(core): State<Arc<Core>>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    check_operator(&core, &user)?;
    Ok(Json(key_rotation::view(&core).await))
}

/// POST /v1/cluster-key/rotate: all controllers get a new key before the log has the first step.
pub async fn rotate(
    State(core): State<Arc<Core>>,
    Extension(rules): Extension<NodeRules>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    check_operator(&core, &user)?;
    if rules.kind == NodeKind::Emulated {
        let message = "emulated nodes have the cluster key itself, and cannot follow a new one";
        return Err(refused(StatusCode::CONFLICT, "emulated_nodes", message.to_owned()));
    }
    check_settled(&core)?;
    let key = ClusterKey::generate().map_err(|error| defect(&error))?;
    let new = authority(&key).map_err(|error| defect(&error))?;
    for (id, client) in key_rotation::others(&core) {
        let offer = KeyOffer { key: Secret(key.secret()) };
        let taken = client.post::<_, KeyGeneration>(OFFER_PATH, &offer).await;
        taken.map_err(|error| {
            let why = with_causes(&error);
            let message = format!("controller {id} did not take the new cluster key: {why}");
            let refusal = net::Refusal::new(StatusCode::CONFLICT, "key_not_taken", message);
            ApiFailure::Http(refusal.hint(
                "nothing has changed; all controllers must run: see `kantctl admin controller \
                 status`, and remove those that are gone for good",
            ))
        })?;
    }
    core.keys.take_other(key).map_err(|error| defect(&error))?;
    act(&core, KeyAction::Begin { actor: core.actor(&user), new }).await
}

/// POST /v1/cluster-key/advance: hosts that have not followed are left behind.
pub async fn advance(
    State(core): State<Arc<Core>>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    check_operator(&core, &user)?;
    let generation = core.state.read().key_status().generation;
    // This controller issues the certificates of the next step.
    if core.keys.held().keys.generation < generation {
        let message = "this controller, which leads, does not follow the present step itself";
        return Err(refused(StatusCode::CONFLICT, "leader_behind", message.to_owned()));
    }
    act(&core, KeyAction::Advance { generation, actor: Some(core.actor(&user)) }).await
}

/// POST /v1/cluster-key/cancel
pub async fn cancel(
    State(core): State<Arc<Core>>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    check_operator(&core, &user)?;
    act(&core, KeyAction::Cancel { actor: core.actor(&user) }).await
}

async fn act(core: &Core, action: KeyAction) -> Result<Json<ClusterKeyView>, ApiFailure> {
    core.command(Command::RotateKey(action)).await?;
    core.keys.news.notify_one();
    Ok(Json(key_rotation::view(core).await))
}

/// Refuses what must not happen while the cluster key is replaced.
///
/// # Errors
/// [`KeyRotationRefusal::Underway`].
pub fn check_settled(core: &Core) -> Result<(), ApiFailure> {
    match core.state.read().key_status().is_settled() {
        true => Ok(()),
        false => Err(Refusal::from(KeyRotationRefusal::Underway).into()),
    }
}

/// GET /v1/cluster-key/generation: the step that this controller follows.
pub async fn generation(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Json<KeyGeneration>, ApiFailure> {
    check_controller(&caller, &headers)?;
    Ok(Json(KeyGeneration { generation: core.keys.held().keys.generation }))
}

/// GET /v1/cluster-key/held: the keys, for a controller that lacks one.
pub async fn held(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Json<HeldKeys>, ApiFailure> {
    check_controller(&caller, &headers)?;
    let held = core.keys.held();
    Ok(Json(HeldKeys {
        generation: held.keys.generation,
        issuing: Secret(held.keys.issuing.secret()),
        other: held.keys.other.as_ref().map(|key| Secret(key.secret())),
    }))
}

/// POST /v1/cluster-key/offer: a key that the leader is about to introduce.
pub async fn offer(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<Json<KeyOffer>, JsonRejection>,
) -> Result<Json<KeyGeneration>, ApiFailure> {
    check_controller(&caller, &headers)?;
    let Json(KeyOffer { key }) = body?;
    check_settled(&core)?;
    let key = ClusterKey::from_secret(&key.0).ok_or_else(|| {
        let message = "a cluster key is 32 bytes in hex".to_owned();
        refused(StatusCode::BAD_REQUEST, "bad_key", message)
    })?;
    core.keys.take_other(key).map_err(|error| defect(&error))?;
    Ok(Json(KeyGeneration { generation: core.keys.held().keys.generation }))
}

fn check_controller(caller: &Caller, headers: &HeaderMap) -> Result<(), ApiFailure> {
    match is_controller(caller, headers) {
        true => Ok(()),
        false => Err(ApiFailure::Http(not_a_controller())),
    }
}

fn refused(status: StatusCode, code: &'static str, message: String) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(status, code, message))
}

fn defect(error: &dyn std::error::Error) -> ApiFailure {
    refused(StatusCode::INTERNAL_SERVER_ERROR, "defect", with_causes(error))
}
