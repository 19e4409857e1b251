//! POST /v1/jobs/{key}/solve: whether a waiting job could run if others moved. The search runs on a
//! copy of the state, one search at a time, for a limited time. It changes nothing.

use super::error::ApiFailure;
use super::slow_query;
use super::what_if::waiting;
use crate::core::Core;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use common::id::JobKey;
use common::reason::Refusal;
use common::wire::api::{SolveRequest, SolveView};
use engine::solve::Effort;
use query::view;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The default number of placements to try.
const TRIALS: u64 = 200_000;
/// The longest search; shorter than kantctl's timeout.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Stops the search when dropped, that is, when the client is gone.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub async fn solve(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    body: Result<Json<SolveRequest>, JsonRejection>,
) -> Result<Json<SolveView>, ApiFailure> {
    let (Json(request), key) = (body?, core.key(&key)?);
    let trials = request.trials.unwrap_or(TRIALS);
    if trials == 0 {
        let message = "a search needs at least one trial".to_owned();
        return Err(Refusal::BadAsk { message }.into());
    }
    core.refresh().await?;
    let permit = core.admission.searches.acquire(user.uid).await.map_err(|_| search_running())?;
    let is_abandoned = Arc::new(AtomicBool::new(false));
    let _stop_on_drop = StopOnDrop(is_abandoned.clone());
    let looked = slow_query::run_with_permit(&core, permit, move |core| {
        let until = Instant::now() + TIME_MAX;
        let is_stopped = || is_abandoned.load(Ordering::Relaxed) || Instant::now() >= until;
        search_placement(core, key, &Effort { trials, is_stopped: &is_stopped })
    });
    looked.await?.map(Json)
}

fn search_placement(
    core: &Core,
    key: JobKey,
    effort: &Effort<'_>,
) -> Result<SolveView, ApiFailure> {
    let (state, now) = (core.state.read().clone(), core.now());
    let key = waiting(&state, key)?;
    // A copy: rounds continue meanwhile.
    let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
    let solved = view::solve(&state, &snapshot, key, now, effort);
    Ok(solved.ok_or(Refusal::UnknownJob { key })?)
}

fn search_running() -> ApiFailure {
    let message = "another search for moves is running, and only one runs at a time";
    let refusal =
        net::Refusal::new(StatusCode::TOO_MANY_REQUESTS, "search_runs", message.to_owned());
    let seconds = TIME_MAX.as_secs();
    ApiFailure::Http(refusal.hint(format!("try again when it has ended, within {seconds} s")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission_limits::AdmissionLimits;

    #[tokio::test]
    async fn there_is_one_search_at_a_time_and_a_refusal_says_when_to_try_again() {
        let admission = AdmissionLimits::default();
        let first = admission.searches.acquire(1).await.unwrap();
        for uid in [1, 2] {
            admission.searches.acquire(uid).await.unwrap_err();
        }
        let ApiFailure::Http(refusal) = search_running() else { panic!("no refusal") };
        assert_eq!(refusal.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(refusal.error.hint.is_some_and(|hint| hint.contains("20 s")));
        drop(first);
        admission.searches.acquire(2).await.unwrap();
    }

    #[test]
    fn a_search_stops_when_the_client_is_gone() {
        let is_abandoned = Arc::new(AtomicBool::new(false));
        drop(StopOnDrop(is_abandoned.clone()));
        assert!(is_abandoned.load(Ordering::Relaxed));
    }
}
