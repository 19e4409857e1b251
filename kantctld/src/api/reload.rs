//! POST /v1/reload: reads the configuration again, for operators.

use super::error::ApiFailure;
use crate::core::Core;
use crate::reload::{ReloadError, Reloader};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use common::causes::with_causes;
use common::wire::api::ReloadAnswer;
use std::sync::Arc;

pub async fn reload(
    State(core): State<Arc<Core>>,
    Extension(reloader): Extension<Arc<Reloader>>,
    user: net::User,
) -> Result<Json<ReloadAnswer>, Response> {
    tracing::info!("user {} asks to read the configuration again", user.uid);
    let of = controller_name(&core);
    let reloaded = reloader.reload().await.map(|answer| Json(ReloadAnswer { of, ..answer }));
    reloaded.map_err(|error| match error {
        ReloadError::Command(error) => ApiFailure::from(error).into_response(),
        other => {
            let message = with_causes(&other);
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            net::Refusal::new(status, "bad_configuration", message).into_response()
        }
    })
}

/// Names this controller if there are several, because each has its own configuration file.
fn controller_name(core: &Core) -> Option<String> {
    let standing = core.standing.borrow();
    let several = standing.members.known.len() > 1;
    let own = standing.members.known.get(&standing.id).filter(|_| several)?;
    Some(format!("controller {} ({}), the leader", standing.id, own.name))
}
