//! Whether this controller works, for supervisors and load balancers.

use crate::core::Core;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;

/// GET /livez: the process answers.
pub async fn live() -> &'static str {
    "ok\n"
}

/// GET /readyz: requests can be carried out, here or by the leader.
pub async fn ready(State(core): State<Arc<Core>>) -> (StatusCode, &'static str) {
    match core.is_serving() || core.leader().is_some() {
        true => (StatusCode::OK, "ok\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "no controller leads\n"),
    }
}
