//! GET /v1/backup: the whole state as one file, for operators, because it contains all users'
//! scripts and environments. It is made from a consistent copy of the state and stops nothing.

use super::error::ApiFailure;
use crate::backup;
use crate::backups::copy_state;
use crate::core::Core;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use common::causes::with_causes;
use std::sync::Arc;

const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// The state, including everything acknowledged before the request.
pub async fn send_backup(
    State(core): State<Arc<Core>>,
    user: net::User,
) -> Result<Response, ApiFailure> {
    core.log.wait_for_read().await.map_err(crate::core::CommandError::from)?;
    let (head, state) = copy_state(&core);
    tracing::info!("user {} makes a backup", user.uid);
    let written = tokio::task::spawn_blocking(move || backup::to_bytes(&head, &state)).await;
    let stopping = || "the controller is stopping: try again in a moment".to_owned();
    match written {
        Ok(Ok(bytes)) => Ok(([(CONTENT_TYPE, BYTES)], bytes).into_response()),
        Ok(Err(error)) => {
            Err(backup_failure(StatusCode::INTERNAL_SERVER_ERROR, with_causes(&error)))
        }
        Err(_) => Err(backup_failure(StatusCode::SERVICE_UNAVAILABLE, stopping())),
    }
}

fn backup_failure(status: StatusCode, message: String) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(status, "no_backup", message))
}
