//! /slurmdb/{version}: accounts, users, associations, qualities of service and clusters.

use super::super::error::ApiFailure;
use super::super::history::account_list;
use super::filters::NoFilters;
use super::{Slurm, names, no_such};
use crate::core::Core;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use common::hostlist::compress;
use common::id::Uid;
use query::view;
use serde_json::{Map, Value};
use slurm_json::accounts::{self as show, Accounts, named_users};
use slurm_json::frame::list;
use slurm_json::qos::qos as show_qos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// GET /slurmdb/{version}/qos
pub async fn qos(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
) -> Result<Response, ApiFailure> {
    Ok(slurm.answer(list("qos", all_qos(&core, &slurm))))
}

/// GET /slurmdb/{version}/qos/{name}
pub async fn one_qos(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    let shown = filter_by_name(all_qos(&core, &slurm), &name);
    answer_named(&slurm, "qos", "unknown_qos", shown, &name)
}

fn all_qos(core: &Core, slurm: &Slurm) -> Vec<Value> {
    let qos = account_list(core).qos;
    (1..).zip(&qos).map(|(place, one)| show_qos(one, place, slurm.version)).collect()
}

/// GET /slurmdb/{version}/accounts
pub async fn accounts(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = with_accounts(core, move |of| show::accounts(of, version)).await?;
    Ok(slurm.answer(list("accounts", shown)))
}

/// GET /slurmdb/{version}/account/{name}
pub async fn account(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = with_accounts(core, move |of| show::accounts(of, version)).await?;
    answer_named(&slurm, "accounts", "unknown_account", filter_by_name(shown, &name), &name)
}

/// GET /slurmdb/{version}/users
pub async fn users(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = with_accounts(core, move |of| show::users(of, version)).await?;
    Ok(slurm.answer(list("users", shown)))
}

/// GET /slurmdb/{version}/user/{name}
pub async fn user(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = with_accounts(core, move |of| show::users(of, version)).await?;
    answer_named(&slurm, "users", "unknown_user", filter_by_name(shown, &name), &name)
}

/// GET /slurmdb/{version}/associations
pub async fn associations(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = with_accounts(core, move |of| show::associations(of, version)).await?;
    Ok(slurm.answer(list("associations", shown)))
}

/// GET /slurmdb/{version}/clusters
pub async fn clusters(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    _: NoFilters,
) -> Result<Response, ApiFailure> {
    let cluster = core.cluster_name();
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let nodes = view::node_list(state, viewer).nodes;
            let nodes = compress(nodes.iter().map(|node| &node.name));
            let shown = show::clusters(&cluster, &host.unwrap_or_default(), &nodes, version);
            Ok(list("clusters", shown))
        })
        .await
}

/// Something made from the accounts, with the names of their users.
async fn with_accounts(
    core: Arc<Core>,
    make: impl FnOnce(&Accounts<'_>) -> Vec<Value> + Send + 'static,
) -> Result<Vec<Value>, ApiFailure> {
    let made = tokio::task::spawn_blocking(move || {
        let accounts = account_list(&core).accounts;
        let users: BTreeMap<Uid, String> =
            named_users(&accounts).into_iter().map(|uid| (uid, names::user(uid.0))).collect();
        make(&Accounts { accounts: &accounts, cluster: &core.cluster_name(), users: &users })
    });
    made.await.map_err(|_| {
        let message = "the controller is stopping: try again";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        ApiFailure::Http(net::Refusal::new(status, "stopping", message))
    })
}

fn filter_by_name(all: Vec<Value>, name: &str) -> Vec<Value> {
    all.into_iter().filter(|one| one["name"] == name).collect()
}

fn answer_named(
    slurm: &Slurm,
    field: &str,
    code: &str,
    shown: Vec<Value>,
    name: &str,
) -> Result<Response, ApiFailure> {
    if shown.is_empty() {
        let what = code.trim_start_matches("unknown_");
        return Err(no_such(what, code, name));
    }
    let fields: Map<String, Value> = list(field, shown);
    Ok(slurm.answer(fields))
}
