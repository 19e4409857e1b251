//! GET /v1/watch: a stream of events, one JSON document a line, while the client reads and this
//! controller leads. A slow client gets the number of events that it missed.

mod ring;

use self::ring::{Entry, Reading, Ring, Taken};
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
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch as tokio_watch;

type Happened = common::wire::api::Happened<serde_json::Value>;

/// The number of events whose lines are made before clients can read them.
const CHUNK_EVENTS: usize = 1000;

/// The feed of events to `watch` requests.
#[derive(Default)]
pub struct EventFeed(Arc<Ring>);

impl EventFeed {
    /// Publishes events; nearly free without readers.
    pub fn publish(&self, core: &Core, events: &[Event]) {
        let wanted = self.0.wanted();
        if wanted.is_empty() {
            return;
        }
        let jobs: BTreeSet<JobId> = events.iter().filter_map(job).map(|key| key.job).collect();
        let owners = {
            // Lines are made after this lock is released: applying waits for it.
            let state = core.state.read();
            let owner = |job: JobId| Some((job, state.job(job)?.spec.owner.name.as_str().into()));
            jobs.into_iter().filter_map(owner).collect()
        };
        append_lines(&self.0, &wanted, core.now(), events, &owners);
    }
}

/// Appends a line for each event that a reader wants.
fn append_lines(
    ring: &Ring,
    wanted: &[Arc<Wanted>],
    at: Time,
    events: &[Event],
    owners: &BTreeMap<JobId, Arc<str>>,
) {
    for part in events.chunks(CHUNK_EVENTS) {
        let entries = part.iter().filter_map(|event| {
            let job = job(event);
            let user = job.and_then(|key| owners.get(&key.job)).cloned();
            wanted.iter().any(|wanted| wanted.matches(job, user.as_deref())).then(|| {
                let line = line(&event_line(event, at, job, user.as_deref())).into();
                Entry { job, user, line }
            })
        });
        ring.add(entries.collect(), Instant::now());
    }
}

/// The job that an event is about.
fn job(event: &Event) -> Option<JobKey> {
    event.key().or(match event {
        Event::JobSubmitted { job, .. } | Event::JobForgotten { job } => Some(JobKey::single(*job)),
        _ => None,
    })
}

fn event_line(event: &Event, at: Time, job: Option<JobKey>, user: Option<&str>) -> Happened {
    let line = serde_json::to_value(event).unwrap_or_default();
    let (name, detail) = match line {
        serde_json::Value::Object(fields) => fields.into_iter().next().unwrap_or_default(),
        serde_json::Value::String(name) => (name, serde_json::Value::Null),
        _ => (String::new(), serde_json::Value::Null),
    };
    let user = user.map(str::to_owned);
    Happened { at, event: name, job, user, text: event.to_string(), detail }
}

/// The events that a reader wants.
#[derive(Default)]
struct Wanted {
    jobs: BTreeSet<JobKey>,
    whole: BTreeSet<JobId>,
    users: BTreeSet<String>,
}

impl Wanted {
    fn matches(&self, about: Option<JobKey>, user: Option<&str>) -> bool {
        let job = |key: JobKey| {
            self.jobs.contains(&key) || self.whole.contains(&key.job) || {
                // An event of the whole array also concerns each of its tasks.
                key.index.is_none() && self.jobs.iter().any(|one| one.job == key.job)
            }
        };
        let all = self.jobs.is_empty() && self.whole.is_empty();
        (all || about.is_some_and(job))
            && (self.users.is_empty() || user.is_some_and(|user| self.users.contains(user)))
    }
}

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
    let opened = core.event_feed.0.open(user.uid, wanted);
    let reading = opened.ok_or_else(|| ApiFailure::Http(ring::too_many()))?;
    // The first line confirms that nothing is missed from here on.
    let first = line(&feed_notice("Watching", core.now(), "from here on".to_owned()));
    let leading = core.leading.clone();
    let lines = stream::unfold((Some(first), reading, leading, core), next);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

type Watcher = (Option<Vec<u8>>, Reading, tokio_watch::Receiver<bool>, Arc<Core>);

/// The client read nothing while lines were waiting.
#[derive(Debug, thiserror::Error)]
#[error("the watch was ended: it missed events and read nothing for too long")]
struct NotRead;

async fn next(state: Watcher) -> Option<(Result<Vec<u8>, NotRead>, Watcher)> {
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

/// Waits for lines. `None` if this controller no longer leads: another one has the events.
async fn next_lines(
    reading: &mut Reading,
    leading: &mut tokio_watch::Receiver<bool>,
) -> Option<Taken> {
    loop {
        // Before the check, so that a later line counts as a change.
        reading.end.mark_unchanged();
        match reading.take() {
            Taken::Nothing => {}
            taken => return Some(taken),
        }
        let led = async { drop(leading.wait_for(|leads| !leads).await) };
        tokio::select! {
            changed = reading.end.changed() => changed.ok()?,
            () = led => return None,
        }
    }
}

fn feed_notice(event: &str, at: Time, text: String) -> Happened {
    let (event, detail) = (event.to_owned(), serde_json::Value::Null);
    Happened { at, event, job: None, user: None, text, detail }
}

fn line(happened: &Happened) -> Vec<u8> {
    let mut line = serde_json::to_vec(happened).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgotten(job: u32) -> Event {
        Event::JobForgotten { job: JobId(job) }
    }

    /// The jobs of the lines that a reader gets.
    async fn about(reading: &mut Reading) -> Vec<u32> {
        let mut leading = tokio_watch::channel(true).1;
        let Some(Taken::Lines(lines)) = next_lines(reading, &mut leading).await else {
            panic!("no lines")
        };
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let job = |line| serde_json::from_slice::<Happened>(line).unwrap().job.unwrap().job.0;
        lines.map(job).collect()
    }

    #[tokio::test]
    async fn a_reader_of_one_user_gets_one_event_among_thousands_of_others() {
        let ring = Arc::new(Ring::default());
        let of_bob = Wanted { users: BTreeSet::from(["bob".to_owned()]), ..Wanted::default() };
        let mut bob = ring.open(1, of_bob).unwrap();
        let mut all = ring.open(1, Wanted::default()).unwrap();
        let events: Vec<Event> = (1..=5000).map(forgotten).collect();
        let owner = |job: u32| if job == 5000 { "bob" } else { "ada" };
        let owners = (1..=5000).map(|job| (JobId(job), owner(job).into())).collect();
        append_lines(&ring, &ring.wanted(), Time(1), &events, &owners);
        assert_eq!(about(&mut bob).await, [5000]);
        let mut seen = Vec::new();
        while seen.len() < 5000 {
            seen.extend(about(&mut all).await);
        }
        assert_eq!(seen, (1..=5000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_stream_ends_once_another_controller_leads() {
        let ring = Arc::new(Ring::default());
        let mut reading = ring.open(1, Wanted::default()).unwrap();
        let (leads, mut leading) = tokio_watch::channel(true);
        append_lines(&ring, &ring.wanted(), Time(1), &[forgotten(1)], &BTreeMap::new());
        leads.send_replace(false);
        let first = next_lines(&mut reading, &mut leading).await;
        assert!(matches!(first, Some(Taken::Lines(_))), "an earlier event: {first:?}");
        assert_eq!(next_lines(&mut reading, &mut leading).await, None);
    }
}
