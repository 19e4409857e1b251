//! What happens, as it happens: a line of JSON for each event, for as long as somebody reads. Never
//! what was before; and who reads too slowly is told how much they missed.

use super::error::ApiFailure;
use crate::core::Core;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use common::id::{JobId, JobKey};
use common::time::Time;
use common::wire::api::WatchQuery;
use futures_util::stream;
use state::Event;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

type Happened = common::wire::api::Happened<serde_json::Value>;

/// So many wait for a reader who is slow.
const WAITING_MAX: usize = 8192;

/// Where events are handed to those who watch.
pub struct Watched(tokio::sync::broadcast::Sender<Arc<Happened>>);

impl Default for Watched {
    fn default() -> Self {
        Self(tokio::sync::broadcast::channel(WAITING_MAX).0)
    }
}

impl Watched {
    /// Tells those who watch; costs nothing while nobody does.
    pub fn tell(&self, core: &Core, events: &[Event]) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let (at, state) = (core.now(), core.state.read());
        for event in events {
            let job = event.key().or(match event {
                Event::JobSubmitted { job, .. } | Event::JobForgotten { job } => {
                    Some(JobKey::single(*job))
                }
                _ => None,
            });
            let owner = job.and_then(|key| state.job(key.job)).map(|record| &record.spec.owner);
            let user = owner.map(|owner| owner.name.clone());
            // Nobody may be left.
            let _ = self.0.send(Arc::new(happened(event, at, job, user)));
        }
    }
}

fn happened(event: &Event, at: Time, job: Option<JobKey>, user: Option<String>) -> Happened {
    let told = serde_json::to_value(event).unwrap_or_default();
    let (name, detail) = match told {
        serde_json::Value::Object(fields) => fields.into_iter().next().unwrap_or_default(),
        serde_json::Value::String(name) => (name, serde_json::Value::Null),
        _ => (String::new(), serde_json::Value::Null),
    };
    Happened { at, event: name, job, user, text: event.to_string(), detail }
}

/// Which events a reader wants.
struct Wanted {
    jobs: BTreeSet<JobKey>,
    whole: BTreeSet<JobId>,
    users: BTreeSet<String>,
}

impl Wanted {
    fn takes(&self, happened: &Happened) -> bool {
        let job = |key: JobKey| {
            self.jobs.contains(&key) || self.whole.contains(&key.job) || {
                // What is told of the whole is told to who watches one task.
                key.index.is_none() && self.jobs.iter().any(|one| one.job == key.job)
            }
        };
        let all = self.jobs.is_empty() && self.whole.is_empty();
        (all || happened.job.is_some_and(job))
            && (self.users.is_empty()
                || happened.user.as_ref().is_some_and(|user| self.users.contains(user)))
    }
}

/// GET /v1/watch
pub async fn watch(
    State(core): State<Arc<Core>>,
    _user: net::User,
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
    let events = core.watched.0.subscribe();
    // The first line says that from here on nothing is missed.
    let first = line(&said("Watching", core.now(), "from here on".to_owned()));
    let lines = stream::unfold((Some(first), events, wanted, core), next);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

type Reading = (Option<Vec<u8>>, Receiver<Arc<Happened>>, Wanted, Arc<Core>);

async fn next(reading: Reading) -> Option<(Result<Vec<u8>, std::io::Error>, Reading)> {
    let (first, mut events, wanted, core) = reading;
    if let Some(first) = first {
        return Some((Ok(first), (None, events, wanted, core)));
    }
    loop {
        let told = match events.recv().await {
            Ok(happened) if wanted.takes(&happened) => line(&happened),
            Ok(_) => continue,
            Err(RecvError::Lagged(missed)) => {
                let text = format!("{missed} events were not told: read faster, or ask for fewer");
                line(&said("Missed", core.now(), text))
            }
            Err(RecvError::Closed) => return None,
        };
        return Some((Ok(told), (None, events, wanted, core)));
    }
}

fn said(event: &str, at: Time, text: String) -> Happened {
    let (event, detail) = (event.to_owned(), serde_json::Value::Null);
    Happened { at, event, job: None, user: None, text, detail }
}

fn line(happened: &Happened) -> Vec<u8> {
    let mut line = serde_json::to_vec(happened).unwrap_or_default();
    line.push(b'\n');
    line
}
