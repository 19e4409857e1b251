//! GET /v1/jobs/{key}/output/events: a job's output as server-sent events while it is written,
//! until the job has ended. The id of an event is the offset of the byte after it.

use super::error::ApiFailure;
use super::events::{RETRY, last_event_id};
use super::origin::Origin;
use super::output::{Chunk, read_chunk};
use super::token_check::StreamToken;
use crate::core::Core;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use common::id::JobKey;
use common::wire::api::{OutputEvent, OutputQuery};
use futures_util::stream;
use net::limiter::Permit;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait for output of one question to a node.
const WAIT_SECONDS: u64 = 20;
/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The longest character in UTF-8.
const CHAR_BYTES_MAX: usize = 4;

/// What one client follows. A stream ends when the token that opened it is no longer valid.
struct Follower {
    core: Arc<Core>,
    user: net::User,
    token: StreamToken,
    key: JobKey,
    /// With the offset of the next byte.
    query: OutputQuery,
    _permit: Permit,
    /// The next chunk, if it was read already.
    chunk: Option<Chunk>,
    has_ended: bool,
}

/// GET /v1/jobs/{key}/output/events
pub async fn events(
    State(core): State<Arc<Core>>,
    user: net::User,
    origin: Origin,
    Path(key): Path<String>,
    headers: HeaderMap,
    Query(mut query): Query<OutputQuery>,
) -> Result<Response, ApiFailure> {
    let last = last_event_id(&headers);
    if let Some(last) = last {
        query.offset = last.parse().map_err(|_| bad_offset(last))?;
    }
    let key = core.parse_job_key(&key)?;
    let permit = core.admission.watches.take(user.uid).map_err(ApiFailure::Http)?;
    query.wait_seconds = 0;
    // The first refusal is the answer.
    let chunk = read_chunk(&core, &user, key, &query).await?;
    if chunk.is_end && last.is_some() {
        // A client that has everything connects no more after this status.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    query.wait_seconds = WAIT_SECONDS;
    let chunk = Some(chunk);
    let (token, has_ended) = (StreamToken::of(&origin), false);
    let follower = Follower { core, user, token, key, query, _permit: permit, chunk, has_ended };
    let events = stream::unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("heartbeat");
    Ok(Sse::new(events).keep_alive(heartbeat).into_response())
}

impl Follower {
    /// Waits for the next part. `None` after the end, or if the output cannot be read any more: a
    /// client that connects again gets the reason.
    async fn next(&mut self) -> Option<Event> {
        while !self.has_ended {
            let chunk = match self.chunk.take() {
                Some(chunk) => chunk,
                None => read_chunk(&self.core, &self.user, self.key, &self.query).await.ok()?,
            };
            if !self.token.is_valid(&self.core) {
                return None;
            }
            self.has_ended = chunk.is_end;
            let bytes = whole_characters(&chunk.bytes);
            self.query.offset += bytes.len() as u64;
            if !bytes.is_empty() || chunk.is_end {
                let offset = self.query.offset;
                let text = String::from_utf8_lossy(bytes).into_owned();
                let part = OutputEvent { offset, text, ended: chunk.is_end };
                let event = Event::default().id(offset.to_string()).retry(RETRY);
                return event.json_data(part).ok();
            }
        }
        None
    }
}

/// The bytes without the begin of a character at their end, whose rest is not written yet. Bytes
/// that are only such a begin are passed on: they may be no text.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let is_begin = |length: &usize| {
        let last = bytes.len().checked_sub(*length).and_then(|at| bytes.get(at..));
        let error = last.and_then(|last| std::str::from_utf8(last).err());
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    match (1..CHAR_BYTES_MAX).find(is_begin) {
        Some(length) if length < bytes.len() => &bytes[..bytes.len() - length],
        _ => bytes,
    }
}

fn bad_offset(text: &str) -> ApiFailure {
    let message = format!("`{text}` is not the id of an event of output, which is a number");
    ApiFailure::Http(net::Refusal::new(StatusCode::BAD_REQUEST, "bad_since", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_not_cut_and_bytes_that_are_no_text_are_not_held_back() {
        for (bytes, whole) in [
            ("done ✓".as_bytes(), 8),
            (&"done ✓".as_bytes()[..7], 5),
            (&"done ✓".as_bytes()[..6], 5),
            (&"x😀".as_bytes()[..4], 1),
            (&"✓".as_bytes()[..2], 2),
            (b"x\xff", 2),
            (b"\x80\x80", 2),
            (b"", 0),
        ] {
            assert_eq!(whole_characters(bytes).len(), whole, "{bytes:?}");
        }
    }
}
