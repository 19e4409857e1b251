//! The events that a client watches, from the point that it asks for: first those that it missed,
//! then those that happen. Without events for a while it gets a heartbeat, so that it notices a
//! dead connection, and learns from which event to continue elsewhere.

use super::error::ApiFailure;
use super::origin::Origin;
use super::token_check::StreamToken;
use crate::core::Core;
use crate::event_feed::{Gap, Happened, Reading, Replay, Taken, Wanted, line, next_lines};
use axum::http::StatusCode;
use common::id::{JobKey, Uid};
use common::time::Time;
use common::wire::api::{EventSequence, HEARTBEAT_SECONDS_MAX, Since, WatchQuery};
use net::limiter::Permit;
use query::viewer::Viewer;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The events of one client.
pub struct EventStream {
    core: Arc<Core>,
    leading: watch::Receiver<bool>,
    user: net::User,
    wanted: Arc<Wanted>,
    heartbeat: Option<Duration>,
    /// The first line confirms that nothing is missed from there on.
    first: Option<Happened>,
    gap: Option<Gap>,
    /// The client has all events up to this one, until it reads.
    after: EventSequence,
    /// Until it reads.
    permit: Option<Permit>,
    reading: Option<Reading>,
    token: StreamToken,
}

/// Lines for the client.
pub struct Part {
    pub lines: Vec<u8>,
    /// A heartbeat.
    pub is_heartbeat: bool,
}

/// The client read nothing while lines were waiting.
#[derive(Debug, thiserror::Error)]
#[error("the watch was ended: it missed events and read nothing for too long")]
pub struct NotRead;

impl EventStream {
    /// Opens a stream, which counts as a watch of the user.
    ///
    /// # Errors
    /// The selection is invalid, or the user has too many watches.
    pub fn open(
        core: Arc<Core>,
        user: &net::User,
        origin: &Origin,
        query: &WatchQuery,
    ) -> Result<Self, ApiFailure> {
        let wanted = Arc::new(Wanted { viewer: core.viewer(user), ..wanted(query)? });
        let since = since(query)?;
        let permit = core.admission.watches.take(user.uid).map_err(ApiFailure::Http)?;
        let seconds = query.heartbeat_seconds.min(HEARTBEAT_SECONDS_MAX);
        let heartbeat = (seconds > 0).then(|| Duration::from_secs(seconds));
        let begin = core.event_feed.begin_position(since, *core.applied.borrow());
        let text = match since {
            Some(_) => format!("after event {}", begin.after),
            None => "from here on".to_owned(),
        };
        let detail = json!({ "heartbeat_seconds": seconds });
        let first = notice("Watching", core.now(), Some(begin.after), text, detail);
        Ok(Self {
            leading: core.leading.clone(),
            user: user.clone(),
            wanted,
            heartbeat,
            first: Some(first),
            gap: begin.gap,
            after: begin.after,
            permit: Some(permit),
            reading: None,
            token: StreamToken::of(origin),
            core,
        })
    }

    /// Waits for the next lines. `None` if this controller no longer leads, the token that opened
    /// the stream is no longer valid, or the user now sees more or less than when it was opened.
    pub async fn next(&mut self) -> Option<Result<Part, NotRead>> {
        let next = self.next_part().await?;
        self.user.groups = self.core.access().groups(Uid(self.user.uid)).await;
        let is_same = self.core.viewer(&self.user) == self.wanted.viewer;
        (is_same && self.token.is_valid(&self.core)).then_some(next)
    }

    async fn next_part(&mut self) -> Option<Result<Part, NotRead>> {
        if let Some(first) = self.first.take() {
            return Some(Ok(Part::of(&first)));
        }
        if let Some(gap) = self.gap.take() {
            return Some(Ok(Part::of(&self.gap_notice(gap))));
        }
        while self.reading.is_none() {
            if !*self.leading.borrow() {
                return None;
            }
            let (feed, state) = (&self.core.event_feed, &self.core.state);
            match feed.replay(state, self.after, &self.wanted, &mut self.permit)? {
                Replay::Lines(lines, last) => {
                    self.after = last;
                    if !lines.is_empty() {
                        return Some(Ok(Part { lines, is_heartbeat: false }));
                    }
                }
                Replay::Gap(gap, last) => {
                    self.after = last;
                    return Some(Ok(Part::of(&self.gap_notice(gap))));
                }
                Replay::Done(reading) => self.reading = Some(reading),
            }
            tokio::task::yield_now().await;
        }
        let reading = self.reading.as_mut()?;
        Some(match next_lines(reading, &mut self.leading, self.heartbeat).await? {
            Taken::Lines(lines) => Ok(Part { lines, is_heartbeat: false }),
            Taken::Missed(missed) => {
                let text = format!("{missed} events were missed: read faster, or ask for fewer");
                Ok(Part::of(&notice("Missed", self.core.now(), None, text, Value::Null)))
            }
            Taken::Nothing(sequence) => {
                let (at, text) = (self.core.now(), "no event".to_owned());
                let beat = notice("Heartbeat", at, Some(sequence), text, Value::Null);
                Ok(Part { is_heartbeat: true, ..Part::of(&beat) })
            }
            Taken::Ended => Err(NotRead),
        })
    }

    fn gap_notice(&self, gap: Gap) -> Happened {
        let (kept_after, text) = match gap {
            Gap::Gone(gone) => (
                gone.last,
                format!(
                    "earlier events than {} are no longer kept, some are missed: `kantctl queue \
                     --all` and `kantctl history` show the jobs as they are now",
                    gone.at
                ),
            ),
            Gap::Ahead(asked) => (
                self.after,
                format!(
                    "event {asked} is not in the log, which may have been restored from a backup: \
                     watching from here on; `kantctl queue --all` shows the jobs as they are now"
                ),
            ),
        };
        let detail = json!({ "kept_after": kept_after });
        notice("Gap", self.core.now(), Some(kept_after), text, detail)
    }
}

impl Part {
    fn of(happened: &Happened) -> Self {
        Self { lines: line(happened), is_heartbeat: false }
    }
}

fn wanted(query: &WatchQuery) -> Result<Wanted, ApiFailure> {
    let words = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let named = words(&query.jobs);
    let keys = named.iter().map(|word| word.parse()).collect::<Result<Vec<JobKey>, _>>()?;
    let (whole, jobs): (Vec<JobKey>, Vec<JobKey>) = keys.iter().partition(|k| k.index.is_none());
    Ok(Wanted {
        jobs: jobs.into_iter().collect(),
        whole: whole.into_iter().map(|key| key.job).collect(),
        users: words(&query.users).into_iter().collect(),
        viewer: Viewer::ALL,
    })
}

fn since(query: &WatchQuery) -> Result<Option<Since>, ApiFailure> {
    if query.since.is_empty() {
        return Ok(None);
    }
    query.since.parse().map(Some).map_err(|error: common::wire::api::NoSequence| {
        let refusal = net::Refusal::new(StatusCode::BAD_REQUEST, "bad_since", error.to_string());
        let hint = "write the `sequence` of the last event that you have, or a time in \
                    milliseconds since 1970";
        ApiFailure::Http(refusal.with_hint(hint))
    })
}

fn notice(
    event: &str,
    at: Time,
    sequence: Option<EventSequence>,
    text: String,
    detail: Value,
) -> Happened {
    Happened { sequence, at, event: event.to_owned(), job: None, user: None, text, detail }
}
