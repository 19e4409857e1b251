//! GET /v1/metrics: utilization of the cluster and waiting times of jobs.

use super::error::ApiFailure;
use super::slow_query::forecast;
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
    // It reads all jobs in the state.
    let result = forecast(&core, user.uid, |core| {
        let now = core.now();
        let state = core.state.read().clone();
        let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
        crate::metrics::metrics(&state, &snapshot, now)
    });
    Ok(Json(result.await?))
}
