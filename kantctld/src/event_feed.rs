//! The feed of events to `watch` requests: a JSON line for each event that a reader wants. Readers
//! take lines at their own pace; a slow one gets the number of events that it missed.

mod ring;

pub use ring::{Reading, Taken};

use crate::shared_state::SharedState;
use common::id::{JobId, JobKey};
use common::time::Time;
use net::limiter::Permit;
use ring::{Entry, Ring};
use state::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

pub type Happened = common::wire::api::Happened<serde_json::Value>;

/// The number of events whose lines are made before clients can read them.
const CHUNK_EVENTS: usize = 1000;

/// The feed.
#[derive(Default)]
pub struct EventFeed(Arc<Ring>);

impl EventFeed {
    /// Publishes events; nearly free without readers.
    pub fn publish(&self, state: &SharedState, at: Time, events: &[Event]) {
        let wanted = self.0.wanted();
        if wanted.is_empty() {
            return;
        }
        let jobs: BTreeSet<JobId> =
            events.iter().filter_map(job_of_event).map(|key| key.job).collect();
        let owners = {
            // Lines are made after this lock is released: applying waits for it.
            let state = state.read();
            let owner = |job: JobId| Some((job, state.job(job)?.spec.owner.name.as_str().into()));
            jobs.into_iter().filter_map(owner).collect()
        };
        append_lines(&self.0, &wanted, at, events, &owners);
    }

    /// Opens a reader of the events from here on.
    #[must_use]
    pub fn open(&self, permit: Permit, wanted: Wanted) -> Reading {
        self.0.open(permit, wanted)
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
            let job = job_of_event(event);
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
fn job_of_event(event: &Event) -> Option<JobKey> {
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
    Happened { at, event: name, job, user, text: query::event::line(event), detail }
}

/// The events that a reader wants.
#[derive(Default)]
pub struct Wanted {
    pub jobs: BTreeSet<JobKey>,
    /// Whole arrays, and jobs without tasks.
    pub whole: BTreeSet<JobId>,
    pub users: BTreeSet<String>,
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

/// Waits for lines. `None` if this controller no longer leads: another one has the events.
pub async fn next_lines(
    reading: &mut Reading,
    leading: &mut watch::Receiver<bool>,
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

/// The line of an event.
#[must_use]
pub fn line(happened: &Happened) -> Vec<u8> {
    let mut line = serde_json::to_vec(happened).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission_limits::AdmissionLimits;

    fn permit() -> Permit {
        AdmissionLimits::default().watches.take(1).unwrap()
    }

    fn forgotten(job: u32) -> Event {
        Event::JobForgotten { job: JobId(job) }
    }

    /// The jobs of the lines that a reader gets.
    async fn about(reading: &mut Reading) -> Vec<u32> {
        let mut leading = watch::channel(true).1;
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
        let mut bob = ring.open(permit(), of_bob);
        let mut all = ring.open(permit(), Wanted::default());
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
        let mut reading = ring.open(permit(), Wanted::default());
        let (leads, mut leading) = watch::channel(true);
        append_lines(&ring, &ring.wanted(), Time(1), &[forgotten(1)], &BTreeMap::new());
        leads.send_replace(false);
        let first = next_lines(&mut reading, &mut leading).await;
        assert!(matches!(first, Some(Taken::Lines(_))), "an earlier event: {first:?}");
        assert_eq!(next_lines(&mut reading, &mut leading).await, None);
    }
}
