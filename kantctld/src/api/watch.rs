//! What happens, as it happens: a line of JSON for each event, for as long as there is a reader and
//! this controller leads. Never what was before; and a reader that is too slow is told how many
//! of its lines it missed.

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

/// Events whose lines are made at once, before readers can take them.
const PART: usize = 1000;

/// Where events are handed to those who watch.
#[derive(Default)]
pub struct Watched(Arc<Ring>);

impl Watched {
    /// Tells those who watch; costs next to nothing while there is no reader.
    pub fn tell(&self, core: &Core, events: &[Event]) {
        let wanted = self.0.wanted();
        if wanted.is_empty() {
            return;
        }
        let jobs: BTreeSet<JobId> = events.iter().filter_map(job).map(|key| key.job).collect();
        let owners = {
            // What is told is made without it: applying waits for this lock.
            let state = core.state.read();
            let owner = |job: JobId| Some((job, state.job(job)?.spec.owner.name.as_str().into()));
            jobs.into_iter().filter_map(owner).collect()
        };
        hand_out(&self.0, &wanted, core.now(), events, &owners);
    }
}

/// Adds a line for each event that a reader wants; what none wants is not even put into words.
fn hand_out(
    ring: &Ring,
    wanted: &[Arc<Wanted>],
    at: Time,
    events: &[Event],
    owners: &BTreeMap<JobId, Arc<str>>,
) {
    for part in events.chunks(PART) {
        let entries = part.iter().filter_map(|event| {
            let job = job(event);
            let user = job.and_then(|key| owners.get(&key.job)).cloned();
            wanted.iter().any(|wanted| wanted.takes(job, user.as_deref())).then(|| {
                let line = line(&happened(event, at, job, user.as_deref())).into();
                Entry { job, user, line }
            })
        });
        ring.add(entries.collect(), Instant::now());
    }
}

/// What an event is about.
fn job(event: &Event) -> Option<JobKey> {
    event.key().or(match event {
        Event::JobSubmitted { job, .. } | Event::JobForgotten { job } => Some(JobKey::single(*job)),
        _ => None,
    })
}

fn happened(event: &Event, at: Time, job: Option<JobKey>, user: Option<&str>) -> Happened {
    let told = serde_json::to_value(event).unwrap_or_default();
    let (name, detail) = match told {
        serde_json::Value::Object(fields) => fields.into_iter().next().unwrap_or_default(),
        serde_json::Value::String(name) => (name, serde_json::Value::Null),
        _ => (String::new(), serde_json::Value::Null),
    };
    let user = user.map(str::to_owned);
    Happened { at, event: name, job, user, text: event.to_string(), detail }
}

/// Which events a reader wants.
#[derive(Default)]
struct Wanted {
    jobs: BTreeSet<JobKey>,
    whole: BTreeSet<JobId>,
    users: BTreeSet<String>,
}

impl Wanted {
    fn takes(&self, about: Option<JobKey>, user: Option<&str>) -> bool {
        let job = |key: JobKey| {
            self.jobs.contains(&key) || self.whole.contains(&key.job) || {
                // What is told of the whole is told to who watches one task.
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
    let opened = core.watched.0.open(user.uid, wanted);
    let reading = opened.ok_or_else(|| ApiFailure::Said(ring::too_many()))?;
    // The first line says that from here on nothing is missed.
    let first = line(&said("Watching", core.now(), "from here on".to_owned()));
    let leading = core.leading.clone();
    let lines = stream::unfold((Some(first), reading, leading, core), next);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

type Watcher = (Option<Vec<u8>>, Reading, tokio_watch::Receiver<bool>, Arc<Core>);

/// Nothing was read while lines waited.
#[derive(Debug, thiserror::Error)]
#[error("the watcher was ended: it missed events, and read nothing for too long")]
struct NotRead;

async fn next(state: Watcher) -> Option<(Result<Vec<u8>, NotRead>, Watcher)> {
    let (first, mut reading, mut leading, core) = state;
    let told = match first {
        Some(first) => Ok(first),
        None => match coming(&mut reading, &mut leading).await? {
            Taken::Missed(missed) => {
                let text = format!("{missed} events were not told: read faster, or ask for fewer");
                Ok(line(&said("Missed", core.now(), text)))
            }
            Taken::Lines(lines) => Ok(lines),
            Taken::Ended | Taken::Nothing => Err(NotRead),
        },
    };
    Some((told, (None, reading, leading, core)))
}

/// Waits for something to tell a reader. `None`: this controller leads no more, and what happens is
/// told by another one.
async fn coming(reading: &mut Reading, leading: &mut tokio_watch::Receiver<bool>) -> Option<Taken> {
    loop {
        // Before the look: what comes after it is a change.
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

fn said(event: &str, at: Time, text: String) -> Happened {
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

    /// The jobs that some lines are about.
    async fn about(reading: &mut Reading) -> Vec<u32> {
        let mut leading = tokio_watch::channel(true).1;
        let Some(Taken::Lines(lines)) = coming(reading, &mut leading).await else {
            panic!("no lines")
        };
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let job = |line| serde_json::from_slice::<Happened>(line).unwrap().job.unwrap().job.0;
        lines.map(job).collect()
    }

    #[tokio::test]
    async fn a_reader_of_one_user_is_told_one_event_among_thousands_of_others() {
        let ring = Arc::new(Ring::default());
        let of_bob = Wanted { users: BTreeSet::from(["bob".to_owned()]), ..Wanted::default() };
        let mut bob = ring.open(1, of_bob).unwrap();
        let mut all = ring.open(1, Wanted::default()).unwrap();
        let events: Vec<Event> = (1..=5000).map(forgotten).collect();
        let owner = |job: u32| if job == 5000 { "bob" } else { "ada" };
        let owners = (1..=5000).map(|job| (JobId(job), owner(job).into())).collect();
        hand_out(&ring, &ring.wanted(), Time(1), &events, &owners);
        assert_eq!(about(&mut bob).await, [5000]);
        let mut seen = Vec::new();
        while seen.len() < 5000 {
            seen.extend(about(&mut all).await);
        }
        assert_eq!(seen, (1..=5000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_reader_is_told_to_ask_again_once_another_controller_leads() {
        let ring = Arc::new(Ring::default());
        let mut reading = ring.open(1, Wanted::default()).unwrap();
        let (leads, mut leading) = tokio_watch::channel(true);
        hand_out(&ring, &ring.wanted(), Time(1), &[forgotten(1)], &BTreeMap::new());
        leads.send_replace(false);
        let first = coming(&mut reading, &mut leading).await;
        assert!(matches!(first, Some(Taken::Lines(_))), "what came before: {first:?}");
        assert_eq!(coming(&mut reading, &mut leading).await, None);
    }
}
