//! GET /v1/watch: a stream of events, one JSON document a line, while the client reads and this
//! controller leads. A slow client gets the number of events that it missed.

use super::error::ApiFailure;
use super::event_stream::{EventStream, NotRead};
use super::origin::Origin;
use crate::core::Core;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use common::wire::api::WatchQuery;
use futures_util::stream;
use std::sync::Arc;

/// GET /v1/watch
pub async fn watch(
    State(core): State<Arc<Core>>,
    user: net::User,
    origin: Origin,
    Query(query): Query<WatchQuery>,
) -> Result<Response, ApiFailure> {
    let events = EventStream::open(core, &user, &origin, &query)?;
    let lines = stream::unfold(events, |mut events| async {
        let next: Result<_, NotRead> = events.next().await?;
        Some((next.map(|part| part.lines), events))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}
