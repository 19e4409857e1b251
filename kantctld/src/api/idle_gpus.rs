//! The jobs that hold GPUs and do not use them.

use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use axum::extract::{Query, State};
use axum::response::Response;
use common::wire::api::{IdleGpuList, IdleGpuQuery};
use std::sync::Arc;

/// GET /v1/idle-gpus
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<IdleGpuQuery>,
) -> Result<Response, ApiFailure> {
    let (now, viewer, reports) = (core.now(), core.viewer(&user), core.clone());
    slow_query::respond_json(&core, user.uid, move |state| {
        let reports = reports.idle_gpus.read();
        let jobs = reports.jobs((state, &viewer), (query.span(), now));
        Ok(IdleGpuList { jobs, as_of: now })
    })
    .await
}
