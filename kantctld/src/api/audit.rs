//! GET /v1/audit: the audit log of this controller, for operators, viewers and support.

use super::error::ApiFailure;
use crate::audit;
use crate::core::Core;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use common::wire::api::{AuditList, AuditQuery};
use net::User;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the audit log is; `None`: there is none.
#[derive(Debug, Clone)]
pub struct AuditPath(pub Option<PathBuf>);

/// GET /v1/audit. Not forwarded: each controller has its own log.
pub async fn list(
    State(core): State<Arc<Core>>,
    Extension(AuditPath(path)): Extension<AuditPath>,
    user: User,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditList>, ApiFailure> {
    let refuse =
        |status, code, message: String| ApiFailure::Http(net::Refusal::new(status, code, message));
    let path = path.ok_or_else(|| {
        let message = "this controller has no audit log: `audit_log` in kantctld.toml is empty";
        refuse(StatusCode::NOT_FOUND, "no_audit_log", message.to_owned())
    })?;
    let shown = path.display().to_string();
    // One reader at a time: a log may have gigabytes.
    let _turn = core.admission.requests.acquire(user.uid).await.map_err(ApiFailure::Http)?;
    let read = tokio::task::spawn_blocking(move || audit::read(&path, &query)).await;
    match read.map_err(std::io::Error::other).and_then(|list| list) {
        Ok(list) => Ok(Json(list)),
        Err(error) => {
            let message = format!("failed to read the audit log {shown}: {error}");
            Err(refuse(StatusCode::INTERNAL_SERVER_ERROR, "audit_log", message))
        }
    }
}
