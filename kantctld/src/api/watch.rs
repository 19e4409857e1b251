//! GET /v1/watch: a stream of events, one JSON document a line, while the client reads and this
//! controller leads. A slow client gets the number of events that it missed.

use super::error::ApiFailure;
use crate::core::Core;
use crate::event_feed::{Happened, Reading, Taken, Wanted, line, next_lines};
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use common::id::JobKey;
use common::time::Time;
use common::wire::api::WatchQuery;
use futures_util::stream;
use std::sync::Arc;
use tokio::sync::watch as tokio_watch;

/// GET /v1/watch
pub async fn watch(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<WatchQuery>,
) -> Result<Response, ApiFailure> {
    let words = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let named = words(&query.jobs);
    let keys = named.iter().map(|word| word.parse()).collect::<Result<Vec<JobKey>, _>>()?;
    let (whole, jobs): (Vec<JobKey>, Vec<JobKey>) = keys.iter().partition(|k| k.index.is_none());
    let wanted = Wanted {
        jobs: jobs.into_iter().collect(),
        whole: whole.into_iter().map(|key| key.job).collect(),
        users: words(&query.users).into_iter().collect(),
    };
    let permit = core.admission.watches.take(user.uid).map_err(ApiFailure::Http)?;
    let reading = core.event_feed.open(permit, wanted);
    // The first line confirms that nothing is missed from here on.
    let first = line(&feed_notice("Watching", core.now(), "from here on".to_owned()));
    let leading = core.leading.clone();
    let lines = stream::unfold((Some(first), reading, leading, core), next_line);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

type Watcher = (Option<Vec<u8>>, Reading, tokio_watch::Receiver<bool>, Arc<Core>);

/// The client read nothing while lines were waiting.
#[derive(Debug, thiserror::Error)]
#[error("the watch was ended: it missed events and read nothing for too long")]
struct NotRead;

async fn next_line(state: Watcher) -> Option<(Result<Vec<u8>, NotRead>, Watcher)> {
    let (first, mut reading, mut leading, core) = state;
    let line = match first {
        Some(first) => Ok(first),
        None => match next_lines(&mut reading, &mut leading).await? {
            Taken::Missed(missed) => {
                let text = format!("{missed} events were missed: read faster, or ask for fewer");
                Ok(line(&feed_notice("Missed", core.now(), text)))
            }
            Taken::Lines(lines) => Ok(lines),
            Taken::Ended | Taken::Nothing => Err(NotRead),
        },
    };
    Some((line, (None, reading, leading, core)))
}

fn feed_notice(event: &str, at: Time, text: String) -> Happened {
    let (event, detail) = (event.to_owned(), serde_json::Value::Null);
    Happened { at, event, job: None, user: None, text, detail }
}
