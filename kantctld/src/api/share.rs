//! Who is owed what, who has it, and who borrows from whom. Never works it out; the engine does.

use super::error::ApiFailure;
use super::look::forecast;
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
        let snapshot = core.lookout.fresh(&core.state, now, engine::Snapshot::clone);
        let queues = engine::fair::standings(&snapshot, now);
        ShareList { fair_sharing: snapshot.policy().fair_sharing, queues, as_of: now }
    };
    Ok(Json(forecast(&core, user.uid, look).await?))
}
