//! GET /slurmdb/{version}/jobs and /job/{job_id}: finished runs from accounting, and the jobs that
//! have not ended.

use super::super::error::ApiFailure;
use super::super::history::history_page;
use super::Slurm;
use super::filters::{NoFilters, Parameters, bad_query, check};
use super::jobs::start_times;
use super::names;
use crate::core::Core;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use common::id::JobKey;
use common::time::Time;
use common::wire::api::{HistoryList, HistoryQuery, HistoryRun, JobView};
use query::view;
use serde_json::Value;
use slurm_json::account_job::job as show_job;
use slurm_json::frame::list;
use slurm_json::job_line::{Line, LinePart, Page};
use slurm_json::past_jobs::Selection;
use std::sync::Arc;

/// The most finished runs of one answer.
const RUNS_MAX: u32 = 10_000;
/// The most pages of accounting in one answer, of at most 8 MiB each.
const PAGES_MAX: u32 = 4;

/// The filters that kant's records have.
const FILTERS: &[&str] =
    &["users", "account", "partition", "state", "start_time", "end_time", "step", "cluster"];
/// Parameters that select nothing here.
const OTHERS: &[&str] = &[
    "skip_steps",
    "disable_wait_for_result",
    "usage_start",
    "usage_end",
    "update_time",
    "show_duplicates",
    "disable_truncate_usage_time",
    "flags",
    "format",
];

/// GET /slurmdb/{version}/jobs
pub async fn list_jobs(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Query(asked): Query<Parameters>,
) -> Result<Response, ApiFailure> {
    check(&asked, FILTERS, OTHERS)?;
    let text = |name: &str| asked.get(name).map_or("", String::as_str);
    let cluster = core.cluster_name();
    if !words(text("cluster")).all(|name| name == cluster) {
        return Err(bad_query(format!("cluster: there is only `{cluster}` here")));
    }
    core.wait_for_current_state().await?;
    let jobs = words(text("step")).map(|word| job_key(&core, word));
    let selection = Selection {
        jobs: jobs.collect::<Result<_, _>>()?,
        users: words(text("users")).map(str::to_owned).collect(),
        accounts: words(text("account")).map(str::to_owned).collect(),
        queues: words(text("partition")).map(str::to_owned).collect(),
        states: words(text("state")).map(str::to_ascii_uppercase).collect(),
        ended_since: time(&asked, "start_time")?,
        submitted_until: time(&asked, "end_time")?,
    };
    answer_jobs(core, slurm, selection).await
}

/// GET /slurmdb/{version}/job/{job_id}
pub async fn show(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, id)): Path<(String, String)>,
    _: NoFilters,
) -> Result<Response, ApiFailure> {
    core.wait_for_current_state().await?;
    let selection = Selection { jobs: vec![core.parse_job_key(&id)?], ..Selection::default() };
    answer_jobs(core, slurm, selection).await
}

/// The words of a list with commas.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// A job or array task of the filter `step`.
fn job_key(core: &Core, word: &str) -> Result<JobKey, ApiFailure> {
    if word.contains('.') {
        let message = format!("step: `{word}` is a step: give its job, which has all its steps");
        return Err(bad_query(message));
    }
    Ok(core.parse_job_key(word)?)
}

/// A time in seconds since 1970.
fn time(asked: &Parameters, name: &str) -> Result<Option<Time>, ApiFailure> {
    let Some(text) = asked.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.strip_prefix("uts").unwrap_or(text);
    let seconds: u64 = text
        .parse()
        .map_err(|_| bad_query(format!("{name}: write a time in seconds since 1970")))?;
    Ok(Some(Time(seconds.saturating_mul(1000))))
}

/// The finished runs of a selection, and the unfinished jobs of it.
async fn answer_jobs(
    core: Arc<Core>,
    slurm: Slurm,
    selection: Selection,
) -> Result<Response, ApiFailure> {
    let (runs, warnings) = finished_runs(&core, &slurm.user, &selection.query()).await?;
    let (waits, cluster, as_of) = (core.last_waits(), core.cluster_name(), core.now());
    slurm
        .answer_slowly_with(&core, warnings, move |state, viewer, version| {
            let jobs = match selection.jobs.as_slice() {
                [] => view::job_list(state, viewer, &Default::default(), &waits).jobs,
                keys => keys
                    .iter()
                    .filter_map(|key| view::job_detail(state, viewer, *key, &waits))
                    .flat_map(|list| list.jobs)
                    .collect(),
            };
            let page = Page { cluster, as_of, account: true, ..Page::default() };
            let selects = |job: &JobView| job.ended_at.is_none() && selection.selects(job, &page);
            let mut unfinished = jobs;
            unfinished.retain(selects);
            let starts = start_times(state, &unfinished);
            let groups = names::groups(runs.iter().map(|run| &run.job).chain(&unfinished));
            let page = Page { groups, starts, ..page };
            let unfinished: Vec<HistoryRun> = unfinished.into_iter().map(unfinished_run).collect();
            let shown = unfinished.iter().chain(&runs).map(|run| {
                let jobs = std::slice::from_ref(&run.job);
                let line = Line { jobs, job: &run.job, part: LinePart::Whole, page: &page };
                show_job(&line, &run.steps, version)
            });
            let shown: Vec<Value> = shown.collect();
            Ok(list("jobs", shown))
        })
        .await
}

/// The finished runs that the query selects and the user sees, and a warning if there are more.
async fn finished_runs(
    core: &Arc<Core>,
    user: &net::User,
    query: &HistoryQuery,
) -> Result<(Vec<HistoryRun>, Vec<String>), ApiFailure> {
    let (mut pages, mut after) = (Pages::default(), None);
    while let Some(limit) = pages.next_limit() {
        let limit = Some(limit);
        let asked = HistoryQuery { steps: true, limit, after, ..query.clone() };
        let HistoryList { runs, next, .. } =
            history_page(core, user.uid, core.viewer(user), asked).await?;
        pages.add(runs, next.is_none());
        after = next;
    }
    let Pages { entries: runs, is_whole, .. } = pages;
    if is_whole {
        return Ok((runs, Vec::new()));
    }
    let first = runs.last().and_then(|run| run.job.ended_at).unwrap_or_default();
    let warning = format!(
        "jobs that ended before {} (seconds since 1970) are missing: an answer has at most \
         {RUNS_MAX} finished jobs, or 32 MiB of them; ask for fewer with users, account, \
         partition, state or end_time",
        first.0 / 1000
    );
    Ok((runs, vec![warning]))
}

/// The entries of the pages that are read, from the first on.
struct Pages<T> {
    entries: Vec<T>,
    count: u32,
    /// Whether these are all pages.
    is_whole: bool,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), count: 0, is_whole: false }
    }
}

impl<T> Pages<T> {
    /// The most entries of the next page; `None`: no further page is wanted.
    fn next_limit(&self) -> Option<u32> {
        let left = RUNS_MAX.saturating_sub(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        (!self.is_whole && self.count < PAGES_MAX && left > 0).then_some(left)
    }

    fn add(&mut self, page: Vec<T>, is_last: bool) {
        self.entries.extend(page);
        (self.count, self.is_whole) = (self.count + 1, is_last);
    }
}

/// A job that still waits or runs, as a run.
fn unfinished_run(job: JobView) -> HistoryRun {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of this many entries in pages of at most this many: how many are read, and whether all are.
    fn read(count: u32, page_max: u32) -> (usize, bool) {
        let (mut pages, mut begin) = (Pages::default(), 0);
        while let Some(limit) = pages.next_limit() {
            let end = count.min(begin + limit.min(page_max));
            pages.add((begin..end).collect(), end == count);
            begin = end;
        }
        assert!(pages.entries.iter().copied().eq(0..begin));
        (pages.entries.len(), pages.is_whole)
    }

    #[test]
    fn an_answer_has_all_pages_or_tells_that_some_are_missing() {
        assert_eq!(read(7, 3), (7, true));
        assert_eq!(read(RUNS_MAX, 5000), (10_000, true));
        assert_eq!(read(RUNS_MAX + 5, 9000), (10_000, false));
        assert_eq!(read(50, 10), (40, false), "four pages of 8 MiB");
    }
}
