//! GET /v1/metrics: how well the cluster is used, and how long jobs waited. Never computes any of
//! it; `crate::metrics` and the engine do.

use super::error::ApiFailure;
use super::look::forecast;
use crate::core::Core;
use axum::Json;
use axum::extract::State;
use common::wire::api::MetricsView;
use std::sync::Arc;

/// GET /v1/metrics
pub async fn show(
    State(core): State<Arc<Core>>,
    user: net::User,
) -> Result<Json<MetricsView>, ApiFailure> {
    // All kept jobs are looked at.
    let looked = forecast(&core, user.uid, |core| {
        let now = core.now();
        let state = core.state.read().clone();
        let snapshot = core.lookout.fresh(&core.state, now, engine::Snapshot::clone);
        crate::metrics::metrics(&state, &snapshot, now)
    });
    Ok(Json(looked.await?))
}
