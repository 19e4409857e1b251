//! GET /v1/metrics: how well the cluster is used, and how long jobs waited. Never computes any of
//! it; `crate::metrics` and the engine do.

use super::error::ApiFailure;
use crate::core::Core;
use axum::Json;
use axum::extract::State;
use common::reason::Refusal;
use common::wire::api::MetricsView;
use std::sync::Arc;

/// GET /v1/metrics
pub async fn show(
    State(core): State<Arc<Core>>,
    _user: net::User,
) -> Result<Json<MetricsView>, ApiFailure> {
    // All kept jobs are looked at: not on a thread that serves sockets.
    let looked = tokio::task::spawn_blocking(move || {
        let now = core.now();
        let state = core.state.read().clone();
        let snapshot = core.lookout.fresh(&core.state, now, engine::Snapshot::clone);
        crate::metrics::metrics(&state, &snapshot, now)
    });
    let message = || "the controller stopped while it looked: ask again".to_owned();
    Ok(Json(looked.await.map_err(|_| Refusal::BadAsk { message: message() })?))
}
