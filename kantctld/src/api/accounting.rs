//! Export of the cluster's recent jobs and nodes as files that `kant-sim simulate` replays, as far
//! as the state still has them.

use super::error::ApiFailure;
use super::right_check::check_role;
use super::slow_query;
use crate::core::Core;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::Response;
use common::right::Right;
use common::wire::api::ExportQuery;
use std::sync::Arc;
use trace::accounting;
use trace::{write_jobs, write_nodes};

/// The number of exported jobs or nodes, and of jobs left out because they never ran.
const NODES: HeaderName = HeaderName::from_static("x-kant-nodes");
const JOBS: HeaderName = HeaderName::from_static("x-kant-jobs");
const LEFT_OUT: HeaderName = HeaderName::from_static("x-kant-left-out");

const CSV: HeaderValue = HeaderValue::from_static("text/csv; charset=utf-8");

/// GET /v1/accounting/jobs
pub async fn jobs(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiFailure> {
    let (viewer, now) = (core.viewer(&user), core.now());
    slow_query::respond(&core, user.uid, move |state| {
        let export = accounting::export_jobs(state, |record| viewer.sees(record), query.since, now);
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, CSV),
            (JOBS, HeaderValue::from(export.jobs.len())),
            (LEFT_OUT, HeaderValue::from(export.left_out)),
        ]);
        Ok((headers, write_jobs(&export.jobs).into()))
    })
    .await
}

/// GET /v1/accounting/nodes
pub async fn nodes(State(core): State<Arc<Core>>, user: net::User) -> Result<Response, ApiFailure> {
    if core.viewer(&user).hides_nodes() {
        check_role(&core.actor(&user), Right::Oversee)?;
    }
    slow_query::respond(&core, user.uid, |state| {
        let nodes = accounting::nodes(state);
        let headers = [(CONTENT_TYPE, CSV), (NODES, HeaderValue::from(nodes.len()))];
        Ok((HeaderMap::from_iter(headers), write_nodes(&nodes).into()))
    })
    .await
}
