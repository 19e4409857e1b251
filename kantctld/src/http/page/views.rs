//! The pages that show something.

use super::Site;
use super::api_client::{failure_page, get};
use super::output::tail;
use super::session::Session;
use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Response};
use common::job::Phase;
use common::wire::api::{ClusterMap, Explanation, JobList, NodeList, ServiceList, ShareList};
use net::Refusal;
use page::{JobPage, Output, PAGE_JOBS, QueueFilter};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

type OurSite = State<Arc<Site>>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    page: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueQuery {
    user: String,
    queue: String,
    all: bool,
    page: usize,
}

/// The answer of one request as a page.
async fn render_answer<T: DeserializeOwned>(
    site: &Site,
    session: &Session,
    path: &str,
    render: impl FnOnce(&T) -> String,
) -> Response {
    match get::<T>(site, session, path).await {
        Ok(answer) => Html(render(&answer)).into_response(),
        Err(refusal) => failure_page(session, &refusal),
    }
}

/// GET /
pub async fn cluster(
    State(site): OurSite,
    session: Session,
    Query(PageQuery { page }): Query<PageQuery>,
) -> Response {
    let render = |map: &ClusterMap| page::cluster(&session.frame(), map, page);
    render_answer(&site, &session, "/v1/map", render).await
}

/// GET /nodes
pub async fn nodes(
    State(site): OurSite,
    session: Session,
    Query(PageQuery { page }): Query<PageQuery>,
) -> Response {
    let render = |map: &ClusterMap| page::nodes(&session.frame(), map, page);
    render_answer(&site, &session, "/v1/map", render).await
}

/// GET /nodes/{name}
pub async fn node(State(site): OurSite, session: Session, Path(name): Path<String>) -> Response {
    let render = |list: &NodeList| {
        let shown = list.nodes.first().map(|one| page::node(&session.frame(), one, list.as_of));
        shown.unwrap_or_else(|| page::failure(&session.frame(), "there is no such node", None))
    };
    render_answer(&site, &session, &format!("/v1/nodes/{}", page::percent_encode(&name)), render)
        .await
}

/// GET /shares
pub async fn shares(State(site): OurSite, session: Session) -> Response {
    let render = |list: &ShareList| page::shares(&session.frame(), list);
    render_answer(&site, &session, "/v1/share", render).await
}

/// GET /services
pub async fn services(State(site): OurSite, session: Session) -> Response {
    let render = |list: &ServiceList| page::services(&session.frame(), list);
    render_answer(&site, &session, "/v1/services", render).await
}

/// GET /jobs
pub async fn queue(
    State(site): OurSite,
    session: Session,
    Query(QueueQuery { user, queue, all, page }): Query<QueueQuery>,
) -> Response {
    let filter = QueueFilter { user, queue, all, page };
    let offset = page.saturating_mul(PAGE_JOBS);
    let mut path = format!("/v1/jobs?all={all}&limit={PAGE_JOBS}&offset={offset}");
    for (name, value) in [("user", &filter.user), ("queue", &filter.queue)] {
        if !value.trim().is_empty() {
            path.push_str(&format!("&{name}={}", page::percent_encode(value.trim())));
        }
    }
    let render = |list: &JobList| page::queue(&session.frame(), list, &filter);
    render_answer(&site, &session, &path, render).await
}

/// GET /jobs/{key}
pub async fn job(State(site): OurSite, session: Session, Path(key): Path<String>) -> Response {
    match job_page(&site, &session, &key).await {
        Ok(text) => Html(text).into_response(),
        Err(refusal) => failure_page(&session, &refusal),
    }
}

async fn job_page(site: &Site, session: &Session, key: &str) -> Result<String, Refusal> {
    let path = format!("/v1/jobs/{}", page::percent_encode(key));
    let list: JobList = get(site, session, &path).await?;
    let waits = list.jobs.iter().any(|job| job.phase == Phase::Pending);
    let explanation: Option<Explanation> = match waits {
        // A page without it is better than none.
        true => get(site, session, &format!("{path}/explain")).await.ok(),
        false => None,
    };
    let output = match list.jobs.as_slice() {
        [only] if only.allocation.is_some() => tail(site, session, only.key).await,
        _ => Output::NotShown("The job has not started.".to_owned()),
    };
    let (jobs, explanation) = (list.jobs.as_slice(), explanation.as_ref());
    let page = JobPage { jobs, explanation, output, as_of: list.as_of };
    Ok(page::job(&session.frame(), &page))
}
