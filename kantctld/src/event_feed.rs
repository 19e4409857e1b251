//! The feed of events to clients that watch: a JSON line for each event that a reader wants.
//! Readers take lines at their own pace; a slow one gets the number of events that it missed.
//!
//! A reader that begins at an earlier point first reads the latest events of the log (`recent`),
//! and then, once it has all of them, the lines that are made for all readers (`ring`).

mod audience;
mod recent;
mod ring;

use audience::{JobOwnership, Owners, Subject};
pub use recent::{Begin, Gap};
pub use ring::{Reading, Taken};

use crate::shared_state::SharedState;
use crate::state_machine::AppliedEvents;
use common::id::{JobId, JobKey, LogIndex, Uid};
use common::sync::Mutex;
use common::time::Time;
use common::wire::api::{EventSequence, Since};
use net::limiter::Permit;
use query::event::{line_without_job, other_job};
use query::viewer::{Viewer, without_details};
use recent::{Next, Recent};
use ring::{Entry, General, Ring};
use state::Event;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

pub type Happened = common::wire::api::Happened<serde_json::Value>;

/// The number of events whose lines are made before clients can read them.
const CHUNK_EVENTS: usize = 1000;

/// The feed.
#[derive(Default)]
pub struct EventFeed {
    ring: Arc<Ring>,
    recent: Mutex<Recent>,
}

/// The next part of what a reader gets that began at an earlier point.
pub enum Replay {
    /// Lines of the events up to a sequence; there may be none.
    Lines(Vec<u8>, EventSequence),
    Gap(Gap, EventSequence),
    /// It has all events, and reads later ones from here.
    Done(Reading),
}

impl EventFeed {
    /// Publishes events; nearly free without readers.
    pub fn publish(&self, state: &SharedState, applied: &Arc<AppliedEvents>) {
        let Some(last) = applied.last_sequence() else { return };
        // Before the readers are listed: one that is not in the list finds the events here.
        self.recent.lock().push(applied.clone());
        let wanted = self.ring.reader_filters();
        if wanted.is_empty() {
            self.ring.add(Vec::new(), last, Instant::now());
            return;
        }
        append_lines(&self.ring, &wanted, applied, &owners(state, &applied.events));
    }

    /// Notes that the state was read from a snapshot: earlier events are unknown.
    pub fn restart(&self, snapshot: LogIndex, at: Time) {
        self.recent.lock().restart(snapshot, at);
    }

    /// Where a reader begins. `applied` is the end of the log.
    pub fn begin_position(&self, since: Option<Since>, applied: LogIndex) -> Begin {
        self.recent.lock().begin_position(since, applied)
    }

    /// The next part of a reader that has all events up to `after`. Takes the permit when it is
    /// done.
    pub fn replay(
        &self,
        state: &SharedState,
        after: EventSequence,
        wanted: &Arc<Wanted>,
        permit: &mut Option<Permit>,
    ) -> Option<Replay> {
        let parts = {
            let recent = self.recent.lock();
            match recent.next(after, CHUNK_EVENTS) {
                Next::Events(parts) => parts,
                Next::Gap(gone) => return Some(Replay::Gap(Gap::Gone(gone), gone.last)),
                Next::End => {
                    // Under the lock, so that later events are published to this reader.
                    let after = after.max(recent.last());
                    return Some(Replay::Done(self.ring.add_reader(
                        permit.take()?,
                        wanted.clone(),
                        after,
                    )));
                }
            }
        };
        let (mut lines, mut last) = (Vec::new(), after);
        for part in parts {
            last = part.last_sequence().unwrap_or(last);
            let owners = owners(state, &part.events);
            for entry in entries(std::slice::from_ref(wanted), &part, &owners, 0..part.events.len())
            {
                lines.extend_from_slice(entry.line_for(&wanted.viewer));
            }
        }
        Some(Replay::Lines(lines, last))
    }
}

fn owners(state: &SharedState, events: &[Event]) -> Owners {
    let about = events.iter().filter_map(job_of_event);
    let others = events.iter().filter_map(other_job);
    let jobs: BTreeSet<JobId> = about.chain(others).map(|key| key.job).collect();
    let services = events.iter().filter_map(|event| match event {
        Event::ServiceChanged { name, .. } => Some(name),
        _ => None,
    });
    let mut owners = Owners::default();
    // Lines are made after this lock is released: applying waits for it.
    let state = state.read();
    for job in jobs {
        if let Some(record) = state.job(job) {
            owners.jobs.insert(job, JobOwnership::of(record).into());
        } else if let Some(uid) = state.owner_of_job(job) {
            owners.forgotten.insert(job, uid);
        }
    }
    let known = services.filter_map(|name| Some((name.clone(), state.service(name)?.owner.uid)));
    owners.services.extend(known);
    owners
}

/// Appends a line for each event that a reader wants.
fn append_lines(ring: &Ring, wanted: &[Arc<Wanted>], applied: &AppliedEvents, owners: &Owners) {
    let count = applied.events.len();
    for begin in (0..count).step_by(CHUNK_EVENTS) {
        let range = begin..count.min(begin + CHUNK_EVENTS);
        let Some(last) = applied.sequences().take(range.end).last() else { continue };
        ring.add(entries(wanted, applied, owners, range).collect(), last, Instant::now());
    }
}

/// The lines of events that a reader wants.
fn entries(
    wanted: &[Arc<Wanted>],
    applied: &AppliedEvents,
    owners: &Owners,
    range: std::ops::Range<usize>,
) -> impl Iterator<Item = Entry> {
    let events = applied.sequences().zip(&applied.events);
    events.skip(range.start).take(range.len()).filter_map(|(sequence, event)| {
        let job = job_of_event(event);
        let subject = Subject::of(event, job, owners);
        wanted.iter().any(|wanted| wanted.matches(job, &subject)).then(|| {
            let happened = event_line(event, sequence, applied.at, job, subject.user());
            let general = redacted_for_others(event, &happened, owners);
            Entry { sequence, job, subject, line: line(&happened).into(), general }
        })
    })
}

/// The fields of events that name another job, or say what one did.
const OTHERS: [&str; 4] = ["preempted", "victim", "preempted_by", "reason"];

/// The event for readers who do not see all jobs, if it differs for them.
fn redacted_for_others(event: &Event, happened: &Happened, owners: &Owners) -> Option<General> {
    let (text, other) = match event {
        // Root stands for the controller, whose reason may say what a job did.
        Event::NodeDrained { name, by: Uid(0), reason } => {
            let reason = without_details(reason).to_owned();
            let short = Event::NodeDrained { name: name.clone(), by: Uid(0), reason };
            (query::event::line(&short), None)
        }
        _ => {
            let other = other_job(event)?;
            (line_without_job(event), owners.jobs.get(&other.job).cloned())
        }
    };
    let mut detail = happened.detail.clone();
    if let Some(fields) = detail.as_object_mut() {
        fields.retain(|name, _| !OTHERS.contains(&name.as_str()));
    }
    let line = line(&Happened { text, detail, ..happened.clone() }).into();
    Some(General { line, other })
}

/// The job that an event is about.
fn job_of_event(event: &Event) -> Option<JobKey> {
    event.key().or(match event {
        Event::JobSubmitted { job, .. } | Event::JobForgotten { job } => Some(JobKey::single(*job)),
        Event::DependencyMoved { key } => Some(*key),
        _ => None,
    })
}

fn event_line(
    event: &Event,
    sequence: EventSequence,
    at: Time,
    job: Option<JobKey>,
    user: Option<&str>,
) -> Happened {
    let line = serde_json::to_value(event).unwrap_or_default();
    let (name, detail) = match line {
        serde_json::Value::Object(fields) => fields.into_iter().next().unwrap_or_default(),
        serde_json::Value::String(name) => (name, serde_json::Value::Null),
        _ => (String::new(), serde_json::Value::Null),
    };
    let (sequence, user) = (Some(sequence), user.map(str::to_owned));
    let text = query::event::line(event);
    Happened { sequence, at, event: name, job, user, text, detail }
}

/// The events that a reader wants.
#[derive(Default)]
pub struct Wanted {
    pub jobs: BTreeSet<JobKey>,
    /// Whole arrays, and jobs without tasks.
    pub whole: BTreeSet<JobId>,
    pub users: BTreeSet<String>,
    /// The reader, who may not see all events.
    pub viewer: Viewer,
}

impl Wanted {
    fn matches(&self, about: Option<JobKey>, subject: &Subject) -> bool {
        let user = subject.user();
        let job = |key: JobKey| {
            self.jobs.contains(&key) || self.whole.contains(&key.job) || {
                // An event of the whole array also concerns each of its tasks.
                key.index.is_none() && self.jobs.iter().any(|one| one.job == key.job)
            }
        };
        let all = self.jobs.is_empty() && self.whole.is_empty();
        (all || about.is_some_and(job))
            && (self.users.is_empty() || user.is_some_and(|user| self.users.contains(user)))
            && subject.is_visible_to(&self.viewer)
    }
}

/// Waits for lines; at most for the time of a heartbeat. `None` if this controller no longer leads:
/// another one has the events.
pub async fn next_lines(
    reading: &mut Reading,
    leading: &mut watch::Receiver<bool>,
    heartbeat: Option<Duration>,
) -> Option<Taken> {
    let mut beat = std::pin::pin!(async {
        match heartbeat {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    });
    loop {
        // Before the check, so that a later line counts as a change.
        reading.end.mark_unchanged();
        let sequence = match reading.take() {
            Taken::Nothing(sequence) => sequence,
            taken => return Some(taken),
        };
        let led = async { drop(leading.wait_for(|leads| !leads).await) };
        tokio::select! {
            changed = reading.end.changed() => changed.ok()?,
            () = led => return None,
            () = &mut beat => return Some(Taken::Nothing(sequence)),
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
mod tests;
