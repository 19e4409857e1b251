//! GET /v1/events: the events of /v1/watch as server-sent events, which browsers and HTTP libraries
//! read and continue by themselves after a lost connection.
//!
//! All events are messages without a name, so that a client gets kinds that it does not know.
//! Source: WHATWG HTML, "Server-sent events".

use super::error::ApiFailure;
use super::event_stream::{EventStream, Part};
use super::origin::Origin;
use crate::core::Core;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use common::wire::api::{EventSequence, WatchQuery};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The last event that a client has, which it sends when it connects again.
const LAST_EVENT_ID: &str = "last-event-id";
/// The time between two heartbeats, unless the client asks for another.
const HEARTBEAT_SECONDS: u64 = 10;
/// How long a client waits before it connects again.
pub const RETRY: Duration = Duration::from_secs(1);

/// The fields of a line that a client needs to continue.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    sequence: Option<EventSequence>,
}

/// GET /v1/events
pub async fn events(
    State(core): State<Arc<Core>>,
    user: net::User,
    origin: Origin,
    headers: HeaderMap,
    Query(mut query): Query<WatchQuery>,
) -> Result<Response, ApiFailure> {
    // A client that connects again repeats its first request, and adds the header.
    if let Some(last) = last_event_id(&headers) {
        query.since = last.to_owned();
    }
    if query.heartbeat_seconds == 0 {
        query.heartbeat_seconds = HEARTBEAT_SECONDS;
    }
    let events = EventStream::open(core, &user, &origin, &query)?;
    let parts = stream::unfold(events, |mut events| async {
        // A client that does not read is disconnected, as at the end of the lead.
        let part = events.next().await?.ok()?;
        Some((stream::iter(messages(&part)), events))
    });
    let first = stream::once(async { Ok::<_, Infallible>(Event::default().retry(RETRY)) });
    Ok(Sse::new(first.chain(parts.flatten().map(Ok))).into_response())
}

/// The value of `Last-Event-ID`; one that is no text is none of ours.
pub fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok().filter(|id| !id.is_empty())
}

fn messages(part: &Part) -> Vec<Event> {
    let lines = part.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| message(line, part.is_heartbeat)).collect()
}

/// A heartbeat is a comment with the sequence, so that the client continues from there.
fn message(line: &[u8], is_heartbeat: bool) -> Event {
    let sequence = serde_json::from_slice(line).ok().and_then(|Head { sequence }| sequence);
    let event = match sequence {
        Some(sequence) => Event::default().id(sequence.to_string()),
        None => Event::default(),
    };
    match is_heartbeat {
        true => event.comment("heartbeat"),
        false => event.data(String::from_utf8_lossy(line)),
    }
}
