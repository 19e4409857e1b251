//! GET /metrics: the state of this controller and, as far as it knows, of the cluster, as
//! OpenMetrics. Names that Slurm has are Slurm's; the others begin with `kant_`.
//!
//! The number of series is bounded: states are a closed set, and of queues at most
//! [`QUEUES_MAX`] are shown. There is nothing by job, user or node. All scrapes share one text,
//! which is made at most once in [`KEPT_FOR`], since the request needs no token.

mod cluster;
mod controller;
mod series;

use crate::core::Core;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use common::wire::api::IdleGpuQuery;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const KEPT_FOR: Duration = Duration::from_secs(5);
/// The most queues with series of their own.
pub const QUEUES_MAX: usize = 500;

/// The last text, and when it was made.
#[derive(Default)]
pub struct LastText(Mutex<Option<(Instant, Arc<str>)>>);

/// What the request needs.
#[derive(Clone)]
pub struct Metrics {
    pub core: Arc<Core>,
    pub last: Arc<LastText>,
}

/// GET /metrics
pub async fn show(State(Metrics { core, last }): State<Metrics>) -> Response {
    let mut last = last.0.lock().await;
    if let Some((_, text)) = last.as_ref().filter(|(made, _)| made.elapsed() < KEPT_FOR) {
        return answer(text);
    }
    let made = tokio::task::spawn_blocking(move || text(&core)).await;
    match made {
        Ok(Ok(text)) => {
            let text: Arc<str> = text.into();
            *last = Some((Instant::now(), text.clone()));
            answer(&text)
        }
        // Writing to a text does not fail; a task fails only while the controller stops.
        Ok(Err(_)) | Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

fn answer(text: &str) -> Response {
    ([(CONTENT_TYPE, MEDIA_TYPE)], text.to_owned()).into_response()
}

fn text(core: &Core) -> Result<String, std::fmt::Error> {
    let mut series = series::Series::default();
    let state = core.state.read().clone();
    cluster::add(&mut series, &state);
    controller::add(&mut series, core);
    if core.is_serving() {
        let now = core.now();
        let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
        let idle = core.idle_gpus.read().count(&state, (IdleGpuQuery::default().span(), now));
        series.gauge("kant_gpus_held_idle", "GPUs that jobs hold and do not use.", idle);
        cluster::add_kant(&mut series, &crate::metrics::metrics(&state, &snapshot, now));
    }
    series.text()
}
