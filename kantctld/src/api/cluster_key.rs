//! The replacement of the cluster key: by operators on the leader's local socket, and between
//! controllers, which alone exchange keys.

use super::controllers::{is_controller, not_controller_refusal};
use super::error::ApiFailure;
use crate::cluster_keys::{KeyStoreError, authority_fingerprint};
use crate::core::Core;
use crate::key_rotation::{self, GENERATION_PATH};
use crate::session::{NodeKind, NodeRules};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use common::causes::with_causes;
use common::reason::{KeyRotationRefusal, Refusal};
use common::wire::api::{ClusterKeyView, KeyGeneration, KeyOffer};
use net::{Caller, ClusterKey, User};
use state::Command;
use state::command::KeyAction;
use std::sync::Arc;

/// GET /v1/cluster-key
pub async fn show(
    State(core): State<Arc<Core>>,
    _user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    Ok(Json(key_rotation::view(&core).await))
}

/// POST /v1/cluster-key/rotate: the log gets the first step, and then all controllers the new key.
pub async fn rotate(
    State(core): State<Arc<Core>>,
    Extension(rules): Extension<NodeRules>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    if rules.kind == NodeKind::Emulated {
        let message = "emulated nodes have the cluster key itself, and cannot follow a new one";
        let refusal = net::Refusal::new(StatusCode::CONFLICT, "emulated_nodes", message);
        let hint = "stop everything, move the key away, and run `kantctld found-key`";
        return Err(ApiFailure::Http(refusal.with_hint(hint)));
    }
    let _rotating = core.keys.rotating.lock().await;
    check_no_rotation(&core)?;
    check_follows(&core)?;
    let followed = last_followed_step(&core).await?;
    let key = ClusterKey::generate().map_err(|error| defect(&error))?;
    let new = authority_fingerprint(&key).map_err(|error| defect(&error))?;
    let (keys, introduced) = (core.keys.clone(), key.clone());
    change_key_store(move || keys.hold_new_key(introduced)).await?;
    let begun = act(&core, KeyAction::Begin { actor: core.actor(&user), new, followed }).await;
    if let Err(ApiFailure::Refused(_)) = &begun {
        let keys = core.keys.clone();
        change_key_store(move || keys.drop_new_key(&key)).await?;
    }
    begun
}

/// The last step that any controller follows.
///
/// # Errors
/// A refusal that names a controller that does not answer: it could not get the new key.
async fn last_followed_step(core: &Core) -> Result<u32, ApiFailure> {
    let mut last = core.keys.held_keys().keys.generation;
    for (id, client) in key_rotation::other_controllers(core) {
        let follows = client.get::<KeyGeneration>(GENERATION_PATH).await;
        let KeyGeneration { generation } = follows.map_err(|error| {
            let why = with_causes(&error);
            let message = format!("controller {id} could not get a new cluster key: {why}");
            let refusal = net::Refusal::new(StatusCode::CONFLICT, "controller_silent", message);
            ApiFailure::Http(refusal.with_hint(
                "all controllers must run: see `kantctl admin controller status`, and remove those \
                 that are gone for good",
            ))
        })?;
        last = last.max(generation);
    }
    Ok(last)
}

/// POST /v1/cluster-key/advance: hosts that have not followed are left behind. The operator names
/// the step that they do not follow.
pub async fn advance_without_laggards(
    State(core): State<Arc<Core>>,
    user: User,
    body: Result<Json<KeyGeneration>, JsonRejection>,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    let Json(KeyGeneration { generation }) = body?;
    // This controller issues the certificates of the next step.
    check_follows(&core)?;
    if core.state.read().key_status().generation != generation {
        let message = "the next step has begun meanwhile".to_owned();
        let refusal = net::Refusal::new(StatusCode::CONFLICT, "step_over", message);
        return Err(ApiFailure::Http(refusal.with_hint("see `kantctl admin key status`")));
    }
    act(&core, KeyAction::Advance { generation, actor: Some(core.actor(&user)) }).await
}

/// POST /v1/cluster-key/adopt: this controller's key is the cluster's.
pub async fn adopt_own_key(
    State(core): State<Arc<Core>>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    let authority = core.keys.held_keys().authorities.fingerprint();
    act(&core, KeyAction::Adopt { actor: core.actor(&user), authority }).await
}

/// POST /v1/cluster-key/cancel
pub async fn cancel(
    State(core): State<Arc<Core>>,
    user: User,
) -> Result<Json<ClusterKeyView>, ApiFailure> {
    act(&core, KeyAction::Cancel { actor: core.actor(&user) }).await
}

async fn act(core: &Core, action: KeyAction) -> Result<Json<ClusterKeyView>, ApiFailure> {
    core.propose_command(Command::RotateKey(action)).await?;
    core.keys.news.notify_one();
    Ok(Json(key_rotation::view(core).await))
}

/// Checks that this controller follows the present step.
fn check_follows(core: &Core) -> Result<(), ApiFailure> {
    let generation = core.state.read().key_status().generation;
    if core.keys.held_keys().keys.generation >= generation {
        return Ok(());
    }
    let message =
        "this controller, which leads, does not follow the present step itself".to_owned();
    let refusal = net::Refusal::new(StatusCode::CONFLICT, "leader_behind", message);
    Err(ApiFailure::Http(refusal.with_hint(
        "its log says why; try again, transfer the lead (`kantctl admin controller transfer`), or \
         go back with `kantctl admin key cancel`",
    )))
}

/// Changes the keys, which writes to the disk.
async fn change_key_store<T: Send + 'static>(
    change: impl FnOnce() -> Result<T, KeyStoreError> + Send + 'static,
) -> Result<T, ApiFailure> {
    let changed = tokio::task::spawn_blocking(change).await;
    let changed = changed.map_err(|error| defect(&error))?;
    changed.map_err(|error| match error {
        KeyStoreError::NotExpected => {
            refused(StatusCode::CONFLICT, "key_not_expected", error.to_string())
        }
        error => refused(StatusCode::INTERNAL_SERVER_ERROR, "key_not_kept", with_causes(&error)),
    })
}

/// Refuses what must not happen while the cluster key is replaced.
///
/// # Errors
/// [`KeyRotationRefusal::Underway`].
pub fn check_no_rotation(core: &Core) -> Result<(), ApiFailure> {
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
    Ok(Json(KeyGeneration { generation: core.keys.held_keys().keys.generation }))
}

/// POST /v1/cluster-key/offer: the new key, from a controller that has it. Only the key that the
/// log names is taken, because a thief of the old key can send one too.
pub async fn accept_offered_key(
    State(core): State<Arc<Core>>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<Json<KeyOffer>, JsonRejection>,
) -> Result<Json<KeyGeneration>, ApiFailure> {
    check_controller(&caller, &headers)?;
    let Json(KeyOffer { key }) = body?;
    let key = ClusterKey::from_secret(&key.0).ok_or_else(|| {
        let message = "a cluster key is 32 bytes in hex".to_owned();
        refused(StatusCode::BAD_REQUEST, "bad_key", message)
    })?;
    let (keys, status) = (core.keys.clone(), core.state.read().key_status().clone());
    let change = change_key_store(move || keys.accept_new_key(key, &status)).await?;
    key_rotation::note_step_change(&core, change);
    Ok(Json(KeyGeneration { generation: core.keys.held_keys().keys.generation }))
}

fn check_controller(caller: &Caller, headers: &HeaderMap) -> Result<(), ApiFailure> {
    match is_controller(caller, headers) {
        true => Ok(()),
        false => Err(ApiFailure::Http(not_controller_refusal())),
    }
}

fn refused(status: StatusCode, code: &'static str, message: String) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(status, code, message))
}

fn defect(error: &dyn std::error::Error) -> ApiFailure {
    refused(StatusCode::INTERNAL_SERVER_ERROR, "defect", with_causes(error))
}
