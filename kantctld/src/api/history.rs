//! Accounting of finished runs, and reports. A request sees everything applied before it.

use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use crate::history::{self, HistoryError};
use crate::history_catch_up::HistoryPage;
use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use common::wire::api::{
    AccountList, EstimatesView, HistoryList, HistoryQuery, ReportQuery, ReportView,
};
use net::{Caller, Role};
use query::viewer::Viewer;
use std::sync::Arc;

/// The user under which other controllers' requests count; no real user has this uid.
const CONTROLLERS: u32 = u32::MAX;

/// GET /v1/history
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<HistoryQuery>,
) -> Result<Response, ApiFailure> {
    core.wait_for_current_state().await?;
    wait_until_written(&core).await?;
    let (history, as_of, viewer) = (core.history.clone(), core.now(), core.viewer(&user));
    slow_query::respond_json(&core, user.uid, move |_| {
        let looked =
            history.reader().and_then(|reader| history::query_runs(&reader, &query, &viewer));
        Ok(HistoryList { as_of, ..looked.map_err(history_failure)? })
    })
    .await
}

/// GET of [`history::KEPT_PATH`]: this controller's own records, for another controller.
pub async fn list_own_records(
    State(core): State<Arc<Core>>,
    caller: Caller,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<HistoryPage>, Response> {
    if caller != Caller::Peer(Role::Controller) {
        let message = "this is for other controllers: users ask /v1/history";
        return Err(
            net::Refusal::new(StatusCode::FORBIDDEN, "not_a_controller", message).into_response()
        );
    }
    let gap = *core.history.watch_gap().borrow();
    // Only with the first page; the following ones continue it.
    let since = query.since.filter(|_| query.every_run && query.after.is_none());
    let answer = async {
        let list = history_page(&core, CONTROLLERS, Viewer::ALL, query).await?;
        let history = core.history.clone();
        let nodes = slow_query::run(&core, CONTROLLERS, move |_| match since {
            Some(since) => history::node_changes(&history.reader()?, since),
            None => Ok(Vec::new()),
        });
        Ok(HistoryPage { list, nodes: nodes.await?.map_err(history_failure)?, gap })
    };
    answer.await.map(Json).map_err(|failure: ApiFailure| failure.into_response())
}

/// GET /v1/accounts
pub async fn accounts(State(core): State<Arc<Core>>, _user: net::User) -> Json<AccountList> {
    Json(account_list(&core))
}

/// The accounts and qualities of service in force.
pub(super) fn account_list(core: &Core) -> AccountList {
    let as_of = core.now();
    let state = core.state.read();
    let known = state.settings();
    let (accounts, qos) = known.map(|known| (known.accounts.clone(), known.qos.clone())).unzip();
    let (accounts, qos) = (accounts.unwrap_or_default(), qos.unwrap_or_default());
    AccountList { accounts, qos, as_of }
}

/// GET /v1/report
pub async fn report(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<ReportQuery>,
) -> Result<Json<ReportView>, ApiFailure> {
    core.wait_for_current_state().await?;
    // The copy first, then the file: runs finished by the time of the copy are in the file, and the
    // report leaves out those finished later.
    let state = core.state.read().clone();
    wait_until_written(&core).await?;
    let (now, history, viewer) = (core.now(), core.history.clone(), core.viewer(&user));
    let hides_nodes = viewer.hides_nodes();
    let looked = slow_query::run(&core, user.uid, move |_| {
        let running = query::history::unfinished_runs(&state, now);
        history::report(&history.reader()?, &query, &viewer, running, state.now(), now)
    });
    let mut report = looked.await?.map_err(history_failure)?;
    if hides_nodes {
        report.nodes.clear();
    }
    Ok(Json(report))
}

/// GET /v1/report/estimates
pub async fn estimates(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<ReportQuery>,
) -> Result<Json<EstimatesView>, ApiFailure> {
    core.wait_for_current_state().await?;
    wait_until_written(&core).await?;
    let (now, history, viewer) = (core.now(), core.history.clone(), core.viewer(&user));
    let looked = slow_query::run(&core, user.uid, move |_| {
        history::estimates(&history.reader()?, &query, &viewer, now)
    });
    looked.await?.map(Json).map_err(history_failure)
}

/// One page of the runs that the query selects and the viewer sees.
///
/// # Errors
/// If accounting cannot be read, or the query is invalid.
pub(super) async fn history_page(
    core: &Arc<Core>,
    uid: u32,
    viewer: Viewer,
    query: HistoryQuery,
) -> Result<HistoryList, ApiFailure> {
    wait_until_written(core).await?;
    let history = core.history.clone();
    let looked = slow_query::run(core, uid, move |_| {
        history::query_runs(&history.reader()?, &query, &viewer)
    });
    let list = looked.await?.map_err(history_failure)?;
    Ok(HistoryList { as_of: core.now(), ..list })
}

/// Waits until everything applied is in the file.
async fn wait_until_written(core: &Core) -> Result<(), ApiFailure> {
    if core.history.flush().await {
        return Ok(());
    }
    let message = "failed to write accounting, so recent runs are missing: see kantctld's log on \
                   the leader (is the disk full?)";
    let refusal = net::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "accounting", message);
    Err(ApiFailure::Http(refusal))
}

fn history_failure(error: HistoryError) -> ApiFailure {
    let (status, code) = match &error {
        HistoryError::Question(_) => (StatusCode::BAD_REQUEST, "bad_question"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "accounting"),
    };
    ApiFailure::Http(net::Refusal::new(status, code, error.to_string()))
}
