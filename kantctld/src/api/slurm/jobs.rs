//! GET /slurm/{version}/jobs and /job/{job_id}: the jobs that the controller keeps.

use super::super::error::ApiFailure;
use super::super::priority::priorities;
use super::{Slurm, names};
use crate::core::Core;
use axum::extract::{Path, State};
use axum::response::Response;
use common::id::JobKey;
use common::reason::Refusal;
use common::wire::api::{JobQuery, JobView};
use query::view;
use serde_json::{Map, Value};
use slurm_json::Version;
use slurm_json::frame;
use slurm_json::job::{job, list_times};
use slurm_json::job_line::Page;
use std::collections::BTreeMap;
use std::sync::Arc;

/// GET /slurm/{version}/jobs
pub async fn list(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let (waits, page) = (core.last_waits(), page(&core, &slurm).await?);
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let query = JobQuery { all: true, ..JobQuery::default() };
            Ok(fields(view::job_list(state, viewer, &query, &waits).jobs, page, version))
        })
        .await
}

/// GET /slurm/{version}/job/{job_id}: a job, the tasks of an array, or the components of a
/// heterogeneous job.
pub async fn show(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    core.refresh().await?;
    let (key, waits) = (core.key(&id)?, core.last_waits());
    let page = page(&core, &slurm).await?;
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let detail = |key| view::job_detail(state, viewer, key, &waits).map(|list| list.jobs);
            let mut jobs = detail(key).ok_or(Refusal::UnknownJob { key })?;
            let behind: Vec<JobKey> = match key.offset() {
                None => jobs.iter().flat_map(JobView::components_behind).collect(),
                Some(_) => Vec::new(),
            };
            jobs.extend(behind.into_iter().filter_map(detail).flatten());
            Ok(fields(jobs, page, version))
        })
        .await
}

/// What all jobs of an answer share.
async fn page(core: &Arc<Core>, slurm: &Slurm) -> Result<Page, ApiFailure> {
    let waiting = priorities(core, &slurm.user).await?;
    let priorities: BTreeMap<JobKey, i64> =
        waiting.into_iter().map(|view| (view.key, view.total)).collect();
    let cluster = core.cluster();
    Ok(Page { cluster, as_of: core.now(), priorities, ..Page::default() })
}

fn fields(jobs: Vec<JobView>, page: Page, version: Version) -> Map<String, Value> {
    let page = Page { groups: names::groups(&jobs), ..page };
    let shown = jobs.iter().map(|one| job(one, &page, version)).collect();
    let mut fields = frame::list("jobs", shown);
    fields.extend(list_times(&page, version));
    fields
}
