//! What happens, as it happens: a line of JSON for each event, for as long as somebody reads and
//! this controller leads. Never what was before; and who reads too slowly is told how much of what
//! they wanted they missed.

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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{mpsc, watch as tokio_watch};

type Happened = common::wire::api::Happened<serde_json::Value>;

/// So many wait for a reader: more than one command can bring of one user's jobs, since the events
/// of a command come at once.
const WAITING_MAX: usize = 1 << 17;

/// Where events are handed to those who watch.
#[derive(Default)]
pub struct Watched(Mutex<Vec<Arc<Watcher>>>);

/// One who watches.
struct Watcher {
    wanted: Wanted,
    lines: mpsc::Sender<Arc<Happened>>,
    missed: Arc<AtomicUsize>,
}

/// What comes for one who watches.
struct Coming {
    lines: mpsc::Receiver<Arc<Happened>>,
    /// How many came after those, while there was no room.
    missed: Arc<AtomicUsize>,
}

impl Watched {
    /// Tells those who watch; costs next to nothing while nobody does.
    pub fn tell(&self, core: &Core, events: &[Event]) {
        let watchers = {
            let mut watchers = self.watchers();
            watchers.retain(|watcher| !watcher.lines.is_closed());
            watchers.clone()
        };
        if watchers.is_empty() {
            return;
        }
        let jobs: BTreeSet<JobId> = events.iter().filter_map(job).map(|key| key.job).collect();
        let owners = {
            // What is told is made without it: applying waits for this lock.
            let state = core.state.read();
            let owner = |job: JobId| Some((job, state.job(job)?.spec.owner.name.clone()));
            jobs.into_iter().filter_map(owner).collect()
        };
        hand_out(&watchers, core.now(), events, &owners);
    }

    /// From now on somebody watches.
    fn add(&self, wanted: Wanted, room: usize) -> Coming {
        let ((sender, lines), missed) = (mpsc::channel(room), Arc::new(AtomicUsize::new(0)));
        let watcher = Watcher { wanted, lines: sender, missed: missed.clone() };
        self.watchers().push(Arc::new(watcher));
        Coming { lines, missed }
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Arc<Watcher>>> {
        // Whoever panicked left a list as good as any.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands each event to those who want it; what nobody wants is not even put into words.
fn hand_out(
    watchers: &[Arc<Watcher>],
    at: Time,
    events: &[Event],
    owners: &BTreeMap<JobId, String>,
) {
    for event in events {
        let job = job(event);
        let user = job.and_then(|key| owners.get(&key.job));
        let mut told = None;
        for watcher in watchers.iter().filter(|watcher| watcher.wanted.takes(job, user)) {
            let told = told
                .get_or_insert_with(|| Arc::new(happened(event, at, job, user.cloned())))
                .clone();
            watcher.hand(told);
        }
    }
}

/// Whom an event is about.
fn job(event: &Event) -> Option<JobKey> {
    event.key().or(match event {
        Event::JobSubmitted { job, .. } | Event::JobForgotten { job } => Some(JobKey::single(*job)),
        _ => None,
    })
}

impl Watcher {
    /// Once one was missed, all are until the reader has read what waits and is told.
    fn hand(&self, told: Arc<Happened>) {
        let is_missing = self.missed.load(Ordering::SeqCst) > 0;
        if is_missing || matches!(self.lines.try_send(told), Err(TrySendError::Full(_))) {
            self.missed.fetch_add(1, Ordering::SeqCst);
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
#[derive(Default)]
struct Wanted {
    jobs: BTreeSet<JobKey>,
    whole: BTreeSet<JobId>,
    users: BTreeSet<String>,
}

impl Wanted {
    fn takes(&self, about: Option<JobKey>, user: Option<&String>) -> bool {
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
    let coming = core.watched.add(wanted, WAITING_MAX);
    // The first line says that from here on nothing is missed.
    let first = line(&said("Watching", core.now(), "from here on".to_owned()));
    let leading = core.leading.clone();
    let lines = stream::unfold((Some(first), coming, leading, core), next);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

type Reading = (Option<Vec<u8>>, Coming, tokio_watch::Receiver<bool>, Arc<Core>);

async fn next(reading: Reading) -> Option<(Result<Vec<u8>, std::io::Error>, Reading)> {
    let (first, mut coming, mut leading, core) = reading;
    let told = match first {
        Some(first) => first,
        None => match coming.next(&mut leading).await? {
            Come::Happened(happened) => line(&happened),
            Come::Missed(missed) => {
                let text = format!("{missed} events were not told: read faster, or ask for fewer");
                line(&said("Missed", core.now(), text))
            }
        },
    };
    Some((Ok(told), (None, coming, leading, core)))
}

/// What is next for a reader.
#[derive(Debug, PartialEq)]
enum Come {
    Happened(Arc<Happened>),
    Missed(usize),
}

impl Coming {
    /// `None`: this controller leads no more, and what happens is told by another one.
    async fn next(&mut self, leading: &mut tokio_watch::Receiver<bool>) -> Option<Come> {
        match self.lines.try_recv() {
            Ok(happened) => return Some(Come::Happened(happened)),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        match self.missed.swap(0, Ordering::SeqCst) {
            0 => {}
            missed => return Some(Come::Missed(missed)),
        }
        let led = async { drop(leading.wait_for(|leads| !leads).await) };
        tokio::select! {
            happened = self.lines.recv() => happened.map(Come::Happened),
            () = led => None,
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

    fn submitted(job: u32) -> Event {
        Event::JobForgotten { job: JobId(job) }
    }

    fn of_user(user: &str) -> Wanted {
        Wanted { users: BTreeSet::from([user.to_owned()]), ..Wanted::default() }
    }

    async fn about(coming: &mut Coming) -> Result<u32, usize> {
        let mut leading = tokio_watch::channel(true).1;
        match coming.next(&mut leading).await.unwrap() {
            Come::Happened(happened) => Ok(happened.job.unwrap().job.0),
            Come::Missed(missed) => Err(missed),
        }
    }

    #[tokio::test]
    async fn who_wants_one_event_is_told_it_behind_thousands_of_others() {
        let watched = Watched::default();
        let (mut bob, mut all) =
            (watched.add(of_user("bob"), 2), watched.add(Wanted::default(), 2));
        let events: Vec<Event> = (1..=5000).map(submitted).collect();
        let owner = |job: u32| if job == 5000 { "bob" } else { "ada" };
        let owners = (1..=5000).map(|job| (JobId(job), owner(job).to_owned())).collect();
        hand_out(&watched.watchers(), Time(1), &events, &owners);
        assert_eq!(about(&mut bob).await, Ok(5000));

        assert_eq!((about(&mut all).await, about(&mut all).await), (Ok(1), Ok(2)));
        hand_out(&watched.watchers(), Time(1), &events[..1], &owners);
        assert_eq!(about(&mut all).await, Err(4999), "those that came after, in one word");
        hand_out(&watched.watchers(), Time(1), &events[6..7], &owners);
        assert_eq!(about(&mut all).await, Ok(7), "and from there on nothing is missed");
    }

    #[tokio::test]
    async fn who_watches_is_told_to_ask_again_once_another_controller_leads() {
        let watched = Watched::default();
        let mut coming = watched.add(Wanted::default(), 2);
        let (leads, mut leading) = tokio_watch::channel(true);
        hand_out(&watched.watchers(), Time(1), &[submitted(1)], &BTreeMap::new());
        leads.send_replace(false);
        let first = coming.next(&mut leading).await;
        assert!(matches!(first, Some(Come::Happened(_))), "what came before: {first:?}");
        assert_eq!(coming.next(&mut leading).await, None);
    }
}
