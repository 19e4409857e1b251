//! GET /slurm/{version}/jobs and /job/{job_id}: the jobs that the controller keeps.

use super::super::error::ApiFailure;
use super::super::priority::priorities;
use super::{Slurm, names};
use crate::core::Core;
use axum::extract::{Path, State};
use axum::response::Response;
use common::id::JobKey;
use common::job::Phase;
use common::reason::Refusal;
use common::time::Time;
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
    let (waits, (page, warnings)) = (core.last_waits(), shared_by_jobs(&core, &slurm, None).await?);
    slurm
        .answer_slowly_with(&core, warnings, move |state, viewer, version| {
            let query = JobQuery { all: true, ..JobQuery::default() };
            Ok(fields(state, view::job_list(state, viewer, &query, &waits).jobs, page, version))
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
    core.wait_for_current_state().await?;
    let (key, waits) = (core.parse_job_key(&id)?, core.last_waits());
    let (page, warnings) = shared_by_jobs(&core, &slurm, Some(key)).await?;
    slurm
        .answer_slowly_with(&core, warnings, move |state, viewer, version| {
            let detail = |key| view::job_detail(state, viewer, key, &waits).map(|list| list.jobs);
            let mut jobs = detail(key).ok_or(Refusal::UnknownJob { key })?;
            let behind: Vec<JobKey> = match key.component_offset() {
                None => jobs.iter().flat_map(JobView::other_components).collect(),
                Some(_) => Vec::new(),
            };
            jobs.extend(behind.into_iter().filter_map(detail).flatten());
            Ok(fields(state, jobs, page, version))
        })
        .await
}

/// What all jobs of an answer share, and warnings about it.
async fn shared_by_jobs(
    core: &Arc<Core>,
    slurm: &Slurm,
    job: Option<JobKey>,
) -> Result<(Page, Vec<String>), ApiFailure> {
    let priorities = priorities(core, &slurm.user, job).await?;
    let missing = "priority: too many forecasts are in progress, so it is 0 for all jobs here";
    let warnings = priorities.is_none().then(|| missing.to_owned());
    let (cluster, priorities) = (core.cluster_name(), priorities.unwrap_or_default());
    let page = Page { cluster, as_of: core.now(), priorities, ..Page::default() };
    Ok((page, warnings.into_iter().collect()))
}

fn fields(
    state: &state::State,
    jobs: Vec<JobView>,
    page: Page,
    version: Version,
) -> Map<String, Value> {
    let page = Page { groups: names::groups(&jobs), starts: start_times(state, &jobs), ..page };
    let shown = jobs.iter().map(|one| job(one, &page, version)).collect();
    let mut fields = frame::list("jobs", shown);
    fields.extend(list_times(&page, version));
    fields
}

/// When the jobs that prepare their nodes got them: they are shown as running, and a job that runs
/// has a start.
pub(super) fn start_times<'a>(
    state: &state::State,
    jobs: impl IntoIterator<Item = &'a JobView>,
) -> BTreeMap<JobKey, Time> {
    let starting = jobs.into_iter().filter(|job| job.phase == Phase::Starting);
    let start = |job: &JobView| {
        let (_, element) = state.element(job.key)?;
        Some((job.key, element.run.as_ref()?.allocated_at))
    };
    starting.filter_map(start).collect()
}
