//! GET /slurm/{version}/diag: what the controller counts.

use super::super::error::ApiFailure;
use super::Slurm;
use crate::core::Core;
use axum::extract::State;
use axum::response::Response;
use common::job::{Outcome, Phase};
use common::time::Span;
use serde_json::Map;
use slurm_json::diag::{Statistics, statistics};
use std::sync::Arc;

/// GET /slurm/{version}/diag: of the jobs that the controller keeps.
pub async fn show(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let (now, rounds) = (core.now(), core.round_stats.counts());
    let round_time = Span(u64::try_from(rounds.time.as_millis()).unwrap_or(u64::MAX));
    slurm
        .answer_slowly(&core, move |state, _, version| {
            let mut counted = Statistics {
                as_of: now,
                since: now,
                rounds: rounds.rounds,
                round_time,
                ..Statistics::default()
            };
            for record in state.jobs() {
                counted.since = counted.since.min(record.submitted_at);
                for element in record.elements.values() {
                    count(&mut counted, element.phase, element.attempt.0 > 0, element.outcome);
                }
            }
            let shown = statistics(&counted, version);
            Ok(Map::from_iter([("statistics".to_owned(), shown)]))
        })
        .await
}

fn count(counted: &mut Statistics, phase: Phase, has_started: bool, outcome: Option<Outcome>) {
    counted.submitted += 1;
    counted.started += u64::from(has_started);
    match (phase, outcome) {
        (Phase::Pending, _) => counted.pending += 1,
        (Phase::Done, Some(Outcome::Completed)) => counted.completed += 1,
        (Phase::Done, Some(Outcome::Cancelled)) => counted.cancelled += 1,
        (Phase::Done, _) => counted.failed += 1,
        (_, _) => counted.running += 1,
    }
}
