//! POST /v1/jobs/{key}/solve: whether a waiting job could run if others moved. The search runs on a
//! copy of the state, one search at a time, for a limited time. It changes nothing.

use super::error::ApiFailure;
use super::slow_query;
use super::what_if::first_waiting_task;
use crate::admission_limits::SEARCH_TIME_MAX;
use crate::core::Core;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use common::id::JobKey;
use common::reason::Refusal;
use common::wire::api::{SolveAnswer, SolveRequest, SolveView};
use engine::solve::Effort;
use query::view;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The default number of placements to try.
const TRIALS: u64 = 200_000;

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
    let (Json(request), key) = (body?, core.parse_job_key(&key)?);
    let trials = request.trials.unwrap_or(TRIALS);
    if trials == 0 {
        let message = "a search needs at least one trial".to_owned();
        return Err(Refusal::BadAsk { message }.into());
    }
    core.wait_for_current_state().await?;
    let permit = core.admission.searches.take(user.uid).map_err(ApiFailure::Http)?;
    let is_abandoned = Arc::new(AtomicBool::new(false));
    let _stop_on_drop = StopOnDrop(is_abandoned.clone());
    let looked = slow_query::run_with_permit(&core, permit, move |core| {
        let until = Instant::now() + SEARCH_TIME_MAX;
        let is_stopped = || is_abandoned.load(Ordering::Relaxed) || Instant::now() >= until;
        search_placement(core, key, &Effort { trials, is_stopped: &is_stopped })
    });
    let solved = looked.await??;
    let (viewer, state) = (core.viewer(&user), core.state.read());
    let is_seen = solved.answer == SolveAnswer::Moves
        && solved.moves.iter().all(|one| viewer.sees_key(&state, one.key));
    Ok(Json(if viewer.hides_jobs() && !is_seen { without_moves(solved) } else { solved }))
}

/// The answer for a user who does not see the jobs that would move.
fn without_moves(solved: SolveView) -> SolveView {
    let lines = match solved.answer {
        SolveAnswer::Moves => "it has room, if other jobs moved",
        SolveAnswer::Impossible => "no moves make room for it, which is proved",
        SolveAnswer::GaveUp => {
            "the search was given up: there may be moves that make room, or none"
        }
    };
    let lines = vec![lines.to_owned()];
    SolveView { moves: Vec::new(), room: Vec::new(), lines, advice: None, ..solved }
}

fn search_placement(
    core: &Core,
    key: JobKey,
    effort: &Effort<'_>,
) -> Result<SolveView, ApiFailure> {
    let (state, now) = (core.state.read().clone(), core.now());
    let key = first_waiting_task(&state, key)?;
    // A copy: rounds continue meanwhile.
    let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
    let solved = view::solve(&state, &snapshot, key, now, effort);
    Ok(solved.ok_or(Refusal::UnknownJob { key })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_search_stops_when_the_client_is_gone() {
        let is_abandoned = Arc::new(AtomicBool::new(false));
        drop(StopOnDrop(is_abandoned.clone()));
        assert!(is_abandoned.load(Ordering::Relaxed));
    }
}
