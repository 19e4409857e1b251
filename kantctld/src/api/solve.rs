//! POST /v1/jobs/{key}/solve: would a waiting job have room if others moved? Searched on a copy,
//! away from the threads that serve sockets and from rounds; one search at a time in the house, and
//! none longer than so many seconds. Never proposes anything: nobody moves by asking.

use super::error::ApiFailure;
use super::look;
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
use state::view;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So many places are looked at unless somebody says otherwise.
const TRIALS: u64 = 200_000;
/// A search ends here at the latest, before kantctl gives up on it.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Whoever asked has gone when this is dropped.
struct Asker(Arc<AtomicBool>);

impl Drop for Asker {
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
        let message = "a search that looks at no place finds nothing".to_owned();
        return Err(Refusal::BadAsk { message }.into());
    }
    core.refresh().await?;
    let turn = core.places.searches.turn(user.uid).await.map_err(|_| another_runs())?;
    let has_gone = Arc::new(AtomicBool::new(false));
    let _asker = Asker(has_gone.clone());
    let looked = look::away_for(&core, turn, move |core| {
        let until = Instant::now() + TIME_MAX;
        let is_stopped = || has_gone.load(Ordering::Relaxed) || Instant::now() >= until;
        searched(core, key, &Effort { trials, is_stopped: &is_stopped })
    });
    looked.await?.map(Json)
}

fn searched(core: &Core, key: JobKey, effort: &Effort<'_>) -> Result<SolveView, ApiFailure> {
    let (state, now) = (core.state.read().clone(), core.now());
    let key = waiting(&state, key)?;
    // A copy: rounds go on meanwhile.
    let snapshot = core.lookout.fresh(&core.state, now, engine::Snapshot::clone);
    let solved = view::solve(&state, &snapshot, key, now, effort);
    Ok(solved.ok_or(Refusal::UnknownJob { key })?)
}

fn another_runs() -> ApiFailure {
    let message = "another search for moves runs, and there is one at a time";
    let refusal =
        net::Refusal::new(StatusCode::TOO_MANY_REQUESTS, "search_runs", message.to_owned());
    let seconds = TIME_MAX.as_secs();
    ApiFailure::Said(refusal.hint(format!("ask again when it is over, in {seconds} s at most")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Places;

    #[tokio::test]
    async fn there_is_one_search_at_a_time_whoever_asks_and_the_next_hears_when_to_ask_again() {
        let places = Places::default();
        let first = places.searches.turn(1).await.unwrap();
        for uid in [1, 2] {
            places.searches.turn(uid).await.unwrap_err();
        }
        let ApiFailure::Said(refusal) = another_runs() else { panic!("no refusal") };
        assert_eq!(refusal.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(refusal.error.hint.is_some_and(|hint| hint.contains("20 s")));
        drop(first);
        places.searches.turn(2).await.unwrap();
    }

    #[test]
    fn a_search_stops_when_whoever_asked_has_gone() {
        let has_gone = Arc::new(AtomicBool::new(false));
        drop(Asker(has_gone.clone()));
        assert!(has_gone.load(Ordering::Relaxed));
    }
}
