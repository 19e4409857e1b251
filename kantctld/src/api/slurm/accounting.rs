//! /slurmdb/{version}: accounting, accounts and qualities of service.

use super::super::error::ApiFailure;
use super::super::history::{account_list, history_page};
use super::{Slurm, names, no_such};
use crate::core::Core;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use common::hostlist::fold;
use common::id::Uid;
use common::time::Time;
use common::wire::api::{HistoryList, HistoryQuery, HistoryRun, JobView};
use query::view;
use serde_json::{Map, Value};
use slurm_json::account_job::job as show_job;
use slurm_json::accounts::{self as show, Accounts, named_users};
use slurm_json::frame::list;
use slurm_json::job_line::{Line, LinePart, Page};
use slurm_json::qos::qos as show_qos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most finished runs of one answer.
const RUNS_MAX: u32 = 10_000;

/// The filters of GET /slurmdb/{version}/jobs that kant's records have; others are refused, because
/// an answer without them would have other jobs.
const FILTERS: &[&str] =
    &["users", "account", "partition", "state", "start_time", "end_time", "step"];
/// Parameters that change nothing here.
const UNUSED: &[&str] = &[
    "skip_steps",
    "disable_wait_for_result",
    "usage_start",
    "usage_end",
    "cluster",
    "update_time",
    "show_duplicates",
    "disable_truncate_usage_time",
    "flags",
    "format",
];

/// GET /slurmdb/{version}/jobs
pub async fn jobs(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Query(asked): Query<BTreeMap<String, String>>,
) -> Result<Response, ApiFailure> {
    if let Some(name) =
        asked.keys().find(|name| ![FILTERS, UNUSED].concat().contains(&name.as_str()))
    {
        let filters = FILTERS.join(", ");
        return Err(bad_query(format!("there is no filter `{name}`: use {filters}")));
    }
    let text = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let query = HistoryQuery {
        users: text("users"),
        accounts: text("account"),
        queues: text("partition"),
        states: text("state").to_ascii_uppercase(),
        since: time(&asked, "start_time")?,
        submitted_until: time(&asked, "end_time")?,
        ..HistoryQuery::default()
    };
    answer_jobs(core, slurm, query, None).await
}

/// GET /slurmdb/{version}/job/{job_id}
pub async fn job(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    core.refresh().await?;
    let key = core.key(&id)?;
    let query = HistoryQuery { jobs: key.to_string(), ..HistoryQuery::default() };
    answer_jobs(core, slurm, query, Some(key)).await
}

/// The finished runs that the query selects, and the unfinished jobs that it would.
async fn answer_jobs(
    core: Arc<Core>,
    slurm: Slurm,
    query: HistoryQuery,
    key: Option<common::id::JobKey>,
) -> Result<Response, ApiFailure> {
    let (uid, viewer) = (slurm.user.uid, core.viewer(&slurm.user));
    let asked = HistoryQuery { steps: true, limit: Some(RUNS_MAX), ..query.clone() };
    let HistoryList { runs, as_of, .. } = history_page(&core, uid, viewer, asked).await?;
    let waits = core.last_waits();
    let cluster = core.cluster();
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let unfinished = match key {
                Some(key) => view::job_detail(state, viewer, key, &waits).map(|list| list.jobs),
                None => Some(view::job_list(state, viewer, &Default::default(), &waits).jobs),
            };
            let unfinished = unfinished.unwrap_or_default().into_iter();
            let unfinished =
                unfinished.filter(|job| job.ended_at.is_none() && selects(&query, job));
            let unfinished: Vec<HistoryRun> = unfinished.map(without_end).collect();
            let groups = names::groups(runs.iter().chain(&unfinished).map(|run| &run.job));
            let page = Page { cluster, as_of, account: true, groups, ..Page::default() };
            let shown = unfinished.iter().chain(&runs).map(|run| {
                let jobs = std::slice::from_ref(&run.job);
                let line = Line { jobs, job: &run.job, part: LinePart::Whole, page: &page };
                show_job(&line, &run.steps, version)
            });
            Ok(list("jobs", shown.collect()))
        })
        .await
}

/// A job that still waits or runs, as a run.
fn without_end(job: JobView) -> HistoryRun {
    HistoryRun {
        run: job.attempt,
        job,
        allocated_at: None,
        gpu_milliseconds: 0,
        cpu_milliseconds: 0,
        requeued: false,
        steps: Vec::new(),
    }
}

/// Whether the query selects an unfinished job, as accounting selects finished ones.
fn selects(query: &HistoryQuery, job: &JobView) -> bool {
    let among = |list: &str, names: &[&str]| {
        list.is_empty()
            || list.split(',').any(|word| names.iter().any(|name| name.eq_ignore_ascii_case(word)))
    };
    let uid = job.owner.uid.to_string();
    let account = job.ask.account.as_ref().map_or("", |account| account.as_str());
    let queue = job.ask.queue.as_ref().map_or("", |queue| queue.as_str());
    among(&query.users, &[&job.owner.name, &uid])
        && among(&query.accounts, &[account])
        && among(&query.queues, &[queue])
        && among(&query.states, &[&job.state, &job.state_code])
        && query.submitted_until.is_none_or(|until| job.submitted_at <= until)
}

/// A time in seconds since 1970.
fn time(asked: &BTreeMap<String, String>, name: &str) -> Result<Option<Time>, ApiFailure> {
    let Some(text) = asked.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.strip_prefix("uts").unwrap_or(text);
    let seconds: u64 = text
        .parse()
        .map_err(|_| bad_query(format!("{name}: write a time in seconds since 1970")))?;
    Ok(Some(Time(seconds.saturating_mul(1000))))
}

fn bad_query(message: String) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(StatusCode::BAD_REQUEST, "bad_question", message))
}

/// GET /slurmdb/{version}/qos
pub async fn qos(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    Ok(slurm.answer(list("qos", all_qos(&core, &slurm))))
}

/// GET /slurmdb/{version}/qos/{name}
pub async fn one_qos(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    let shown = named(all_qos(&core, &slurm), &name);
    answer_named(&slurm, "qos", "unknown_qos", shown, &name)
}

fn all_qos(core: &Core, slurm: &Slurm) -> Vec<Value> {
    let qos = account_list(core).qos;
    (1..).zip(&qos).map(|(place, one)| show_qos(one, place, slurm.version)).collect()
}

/// GET /slurmdb/{version}/accounts
pub async fn accounts(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = of_accounts(core, move |of| show::accounts(of, version)).await?;
    Ok(slurm.answer(list("accounts", shown)))
}

/// GET /slurmdb/{version}/account/{name}
pub async fn account(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = of_accounts(core, move |of| show::accounts(of, version)).await?;
    answer_named(&slurm, "accounts", "unknown_account", named(shown, &name), &name)
}

/// GET /slurmdb/{version}/users
pub async fn users(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = of_accounts(core, move |of| show::users(of, version)).await?;
    Ok(slurm.answer(list("users", shown)))
}

/// GET /slurmdb/{version}/user/{name}
pub async fn user(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = of_accounts(core, move |of| show::users(of, version)).await?;
    answer_named(&slurm, "users", "unknown_user", named(shown, &name), &name)
}

/// GET /slurmdb/{version}/associations
pub async fn associations(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
) -> Result<Response, ApiFailure> {
    let version = slurm.version;
    let shown = of_accounts(core, move |of| show::associations(of, version)).await?;
    Ok(slurm.answer(list("associations", shown)))
}

/// GET /slurmdb/{version}/clusters
pub async fn clusters(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let cluster = core.cluster();
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let nodes = view::node_list(state, viewer).nodes;
            let nodes = fold(nodes.iter().map(|node| &node.name));
            let shown = show::clusters(&cluster, &host.unwrap_or_default(), &nodes, version);
            Ok(list("clusters", shown))
        })
        .await
}

/// Something made from the accounts, with the names of their users.
async fn of_accounts(
    core: Arc<Core>,
    make: impl FnOnce(&Accounts<'_>) -> Vec<Value> + Send + 'static,
) -> Result<Vec<Value>, ApiFailure> {
    let made = tokio::task::spawn_blocking(move || {
        let accounts = account_list(&core).accounts;
        let users: BTreeMap<Uid, String> =
            named_users(&accounts).into_iter().map(|uid| (uid, names::user(uid.0))).collect();
        make(&Accounts { accounts: &accounts, cluster: &core.cluster(), users: &users })
    });
    made.await.map_err(|_| bad_query("the controller is stopping: try again".to_owned()))
}

fn named(all: Vec<Value>, name: &str) -> Vec<Value> {
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
