//! Slow queries, run outside the threads that serve sockets. Lists and forecasts have separate
//! limits, so that forecasts do not delay lists, and a user may take half of each.

use super::error::ApiFailure;
use super::response_spool::{self, SpoolWriter};
use crate::core::Core;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use net::limiter::Permit;
use serde::Serialize;
use state::State;
use std::sync::Arc;
use tokio::sync::oneshot;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Runs a short query on a copy of the state, so that no lock is held.
///
/// # Errors
/// If the user has too many requests, the controller stops, or the query panics.
pub async fn run<T: Send + 'static>(
    core: &Arc<Core>,
    uid: u32,
    view: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let permit = core.admission.lists.acquire(uid).await.map_err(ApiFailure::Http)?;
    let core = core.clone();
    let (looked, _permit) = run_blocking(permit, move || {
        let state = core.state.read().clone();
        view(&state)
    })
    .await?;
    Ok(looked)
}

/// Answers with a list that may be long. Data not read yet counts against the user's limit.
///
/// # Errors
/// As [`run`], and the errors of `view`.
pub async fn respond_json<T: Serialize>(
    core: &Arc<Core>,
    uid: u32,
    view: impl FnOnce(&State) -> Result<T, ApiFailure> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
    respond(core, uid, move |state| Ok((headers, encode_json(&view(state)?)?))).await
}

/// Encodes an answer as JSON.
fn encode_json(answer: &impl Serialize) -> Result<Vec<u8>, ApiFailure> {
    // Own types always encode.
    let defect = |error| defect_failure(&format!("failed to write an answer: {error}"));
    serde_json::to_vec(answer).map_err(defect)
}

/// The same for a query that encodes its answer itself.
///
/// # Errors
/// As [`respond_json`].
pub async fn respond(
    core: &Arc<Core>,
    uid: u32,
    write: impl FnOnce(&State) -> Result<(HeaderMap, Vec<u8>), ApiFailure> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let permit = core.admission.lists.acquire(uid).await.map_err(ApiFailure::Http)?;
    let core = core.clone();
    let (looked, permit) = run_blocking(permit, move || {
        let state = core.state.read().clone();
        write(&state)
    })
    .await?;
    let (headers, bytes) = looked?;
    Ok((headers, response_spool::response(bytes, permit, response_spool::IDLE_MAX)).into_response())
}

/// Why an answer in lines ends early.
pub enum EarlyEnd {
    /// The client disconnected.
    Unread,
    /// A line cannot be encoded, which is a defect.
    Unwritable(serde_json::Error),
}

/// A writer of documents, one a line.
pub struct LineWriter {
    spool: SpoolWriter,
    part: Vec<u8>,
    /// Notified once there is something to send.
    begun: Option<oneshot::Sender<()>>,
}

impl LineWriter {
    /// One line below the size that the connection takes at once.
    const FULL: usize = response_spool::CHUNK_BYTES - (4 << 10);

    fn new(spool: SpoolWriter, begun: oneshot::Sender<()>) -> Self {
        Self { spool, part: Vec::with_capacity(response_spool::CHUNK_BYTES), begun: Some(begun) }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// [`EarlyEnd`]: no more lines are wanted.
    pub fn add(&mut self, line: &impl Serialize) -> Result<(), EarlyEnd> {
        serde_json::to_writer(&mut self.part, line).map_err(EarlyEnd::Unwritable)?;
        self.part.push(b'\n');
        match self.part.len() < Self::FULL || self.send_part() {
            true => Ok(()),
            false => Err(EarlyEnd::Unread),
        }
    }

    fn send_part(&mut self) -> bool {
        let next = Vec::with_capacity(response_spool::CHUNK_BYTES);
        let is_read = self.spool.put(std::mem::replace(&mut self.part, next));
        // The caller may be gone.
        let _ = self.begun.take().map(|begun| begun.send(()));
        is_read
    }

    fn end(mut self) {
        self.send_part();
        self.spool.end();
    }
}

/// Answers with a list that may be long, one document a line, sent while it is written. An error
/// before the first data is returned; a later one aborts the response, so that the client does not
/// take it for complete.
///
/// # Errors
/// As [`respond_json`].
pub async fn respond_lines(
    core: &Arc<Core>,
    uid: u32,
    write: impl FnOnce(&State, &mut LineWriter) -> Result<(), EarlyEnd> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let (spool, body) = response_spool::open(
        core.admission.lists.acquire(uid).await.map_err(ApiFailure::Http)?,
        response_spool::IDLE_MAX,
    );
    let core = core.clone();
    let write = move |lines: &mut LineWriter| {
        let state = core.state.read().clone();
        write(&state, lines)
    };
    respond_in_lines(spool, body, write).await
}

async fn respond_in_lines(
    spool: SpoolWriter,
    body: Body,
    write: impl FnOnce(&mut LineWriter) -> Result<(), EarlyEnd> + Send + 'static,
) -> Result<Response, ApiFailure> {
    let (begun, has_begun) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let mut lines = LineWriter::new(spool, begun);
        match write(&mut lines) {
            Ok(()) => lines.end(),
            Err(EarlyEnd::Unread) => {}
            Err(EarlyEnd::Unwritable(error)) => tracing::error!("failed to write a list: {error}"),
        }
    });
    has_begun.await.map_err(|_| defect_failure("kantctld failed during a query"))?;
    Ok(([(CONTENT_TYPE, LINES)], body).into_response())
}

/// Runs a forecast: a query that runs rounds, or orders all waiting jobs.
///
/// # Errors
/// As [`run`].
pub async fn forecast<T: Send + 'static>(
    core: &Arc<Core>,
    uid: u32,
    look: impl FnOnce(&Core) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let permit = core.admission.forecasts.acquire(uid).await.map_err(ApiFailure::Http)?;
    run_with_permit(core, permit, look).await
}

/// The same with a permit that was acquired before.
///
/// # Errors
/// If the controller stops, or the query panics.
pub async fn run_with_permit<T: Send + 'static>(
    core: &Arc<Core>,
    permit: Permit,
    look: impl FnOnce(&Core) -> T + Send + 'static,
) -> Result<T, ApiFailure> {
    let core = core.clone();
    Ok(run_blocking(permit, move || look(&core)).await?.0)
}

/// Runs a query on another thread. The permit is held until it ends, even if the caller is gone.
async fn run_blocking<T: Send + 'static>(
    permit: Permit,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, Permit), ApiFailure> {
    let looked = tokio::task::spawn_blocking(move || (look(), permit));
    looked.await.map_err(|error| match error.is_panic() {
        true => defect_failure("kantctld failed during a query"),
        false => {
            let message = "the controller is stopping: try again in a moment";
            http_refusal(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
        }
    })
}

fn defect_failure(what: &str) -> ApiFailure {
    let message = format!("{what}, which is a defect: please report it with kantctld's log");
    http_refusal(StatusCode::INTERNAL_SERVER_ERROR, "defect", &message)
}

fn http_refusal(status: StatusCode, code: &'static str, message: &str) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(status, code, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission_limits::{AdmissionLimits, LISTS_MAX};

    #[tokio::test]
    async fn a_query_that_panics_is_an_error_and_releases_its_permit() {
        let admission = AdmissionLimits::default();
        for _ in 0..=LISTS_MAX {
            let permit = admission.lists.acquire(1).await.unwrap();
            let failure = run_blocking(permit, || -> u32 { panic!("planted") }).await.unwrap_err();
            let response = failure.into_response();
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        }
        let permit = admission.lists.acquire(1).await.unwrap();
        assert_eq!(run_blocking(permit, || 42).await.unwrap().0, 42);
    }

    #[tokio::test]
    async fn a_list_that_fails_at_once_is_an_error_and_one_that_fails_later_is_aborted() {
        let open = || async {
            let admission = AdmissionLimits::default();
            response_spool::open(
                admission.lists.acquire(1).await.unwrap(),
                response_spool::IDLE_MAX,
            )
        };
        let (spool, body) = open().await;
        let failure = respond_in_lines(spool, body, |_| panic!("planted")).await.unwrap_err();
        assert_eq!(failure.into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);

        let (spool, body) = open().await;
        let fails_late = |lines: &mut LineWriter| -> Result<(), EarlyEnd> {
            (0..100_000).try_for_each(|number: u32| lines.add(&number))?;
            panic!("planted")
        };
        let response = respond_in_lines(spool, body, fails_late).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(axum::body::to_bytes(response.into_body(), usize::MAX).await.is_err());

        let (spool, body) = open().await;
        let response = respond_in_lines(spool, body, |lines| lines.add(&7)).await.unwrap();
        assert_eq!(axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap(), "7\n");
    }
}
