//! GET /v1/share: each queue's entitlement and usage, as computed by the engine.

use super::error::ApiFailure;
use super::slow_query::forecast;
use crate::core::Core;
use axum::Json;
use axum::extract::State;
use common::wire::api::ShareList;
use std::sync::Arc;

/// GET /v1/share
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
) -> Result<Json<ShareList>, ApiFailure> {
    let look = |core: &Core| {
        let now = core.now();
        let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
        let queues = engine::standings(&snapshot, now);
        ShareList { fair_sharing: snapshot.policy().fair_sharing, queues, as_of: now }
    };
    Ok(Json(forecast(&core, user.uid, look).await?))
}
