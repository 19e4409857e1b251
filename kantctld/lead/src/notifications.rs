//! Mail to users about their jobs (`--mail-type`): which events cause a message, its subject and
//! variables. As in Slurm it has no text, and sending is left to the caller.
//!
//! Messages are news, not records: an event is handled once, by the leader that applies it, and no
//! later leader repeats it. What does not follow from one event (an impossible dependency, a part
//! of the time limit) may be reported by two leaders.

mod marks;
mod occasion;
mod text;

pub use marks::TimeLimitMarks;

use common::id::{ArrayIndex, JobKey};
use common::job::{MailEvent, Outcome, Phase};
use common::reason::WaitReason;
use occasion::Occasion;
use query::view::{self, Waits};
use query::viewer::Viewer;
use state::job::{Element, Record};
use state::timeline::TimelineEvent;
use state::{Event, State};
use std::collections::BTreeSet;

/// A message ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Addresses or user names.
    pub to: Vec<String>,
    pub subject: String,
    /// Environment variables for programs made for Slurm's MailProg (man slurm.conf).
    pub variables: Vec<(&'static str, String)>,
}

/// The most messages about one command, which may end an array of a hundred thousand tasks with a
/// message each.
const NOTIFICATIONS_MAX: usize = 1_000;

/// Writes messages about events.
#[derive(Debug, Default)]
pub struct Notifier {
    /// Jobs whose impossible dependency was reported; that may change.
    reported_never: BTreeSet<JobKey>,
}

impl Notifier {
    /// The messages about these events, given the state right after them.
    pub fn messages_for_events(&mut self, state: &State, events: &[Event]) -> Vec<Notification> {
        // An array reported as a whole has one message, even if all its tasks end at once.
        let mut over = BTreeSet::new();
        let mut is_news = |event: &Event| match event {
            Event::JobDone { key, .. } => {
                let record = state.job(key.job);
                record.is_none_or(|record| is_reported_alone(record, *key)) || over.insert(key.job)
            }
            _ => true,
        };
        let news = events.iter().rev().filter(|event| is_news(event));
        let news: Vec<&Event> = news.collect();
        let selected = news.into_iter().rev();
        selected
            .filter_map(|event| self.message_for_event(state, events, event))
            .take(NOTIFICATIONS_MAX)
            .collect()
    }

    fn message_for_event(
        &mut self,
        state: &State,
        events: &[Event],
        event: &Event,
    ) -> Option<Notification> {
        let key = event.key().or(match event {
            Event::JobSubmitted { job, repeated: false, .. } => Some(JobKey::single(*job)),
            Event::DependencyMoved { key } => Some(*key),
            Event::JobForgotten { job } => {
                self.reported_never.retain(|key| key.job != *job);
                None
            }
            _ => None,
        })?;
        let record = state.job(key.job).filter(|record| is_requested(record, None))?;
        let occasion = match event {
            Event::JobRunning { .. } => begin_occasion(record, key, events),
            Event::JobEnded { outcome: Outcome::TimedOut, .. } => {
                is_requested(record, Some(MailEvent::TimeLimit)).then_some(Occasion::TimeUp)
            }
            Event::JobEnded { .. } => began_unreported(record, key),
            Event::JobDone { outcome, .. } => ended_occasion(state, record, key, *outcome),
            Event::JobRequeued { .. } => (is_requested(record, Some(MailEvent::Requeue))
                && is_reported_alone(record, key))
            .then_some(Occasion::Requeued),
            Event::JobUpdated { .. } => {
                self.reported_never.retain(|reported| reported.job != key.job);
                None
            }
            Event::JobSubmitted { .. } | Event::DependencyMoved { .. } => {
                return self.impossible_dependency(state, record, key);
            }
            _ => None,
        }?;
        write(state, record, key, &occasion)
    }

    /// Reports an impossible dependency once for a job, or for an array as a whole.
    fn impossible_dependency(
        &mut self,
        state: &State,
        record: &Record,
        key: JobKey,
    ) -> Option<Notification> {
        if !is_requested(record, Some(MailEvent::InvalidDepend)) {
            return None;
        }
        let index = key.index.or_else(|| record.elements.keys().next().copied().flatten());
        let whole = JobKey::single(key.job);
        let reported = if is_reported_alone(record, key) { key } else { whole };
        if self.reported_never.contains(&reported) {
            return None;
        }
        let seen = view::job_view(state, &Viewer::ALL, record.key(index), &Waits::new())?;
        let detail = seen.reason.filter(|_| seen.phase == Phase::Pending)?.detail;
        let is_never = matches!(detail, WaitReason::DependencyNever { .. });
        if !is_never || !self.reported_never.insert(reported) {
            return None;
        }
        write(state, record, record.key(index), &Occasion::Never)
    }
}

/// Whether the job asks for mail about this event, or about any event.
fn is_requested(record: &Record, event: Option<MailEvent>) -> bool {
    let on = record.spec.ask.mail.as_ref().map(|mail| &mail.on);
    on.is_some_and(|on| event.map_or(!on.is_none(), |event| on.has(event)))
}

/// Whether this element has messages of its own, and not as part of its array.
fn is_reported_alone(record: &Record, key: JobKey) -> bool {
    key.index.is_none() || is_requested(record, Some(MailEvent::ArrayTasks))
}

/// The job runs or, for an array reported as a whole, its first task does.
fn begin_occasion(record: &Record, key: JobKey, events: &[Event]) -> Option<Occasion> {
    if !is_requested(record, Some(MailEvent::Begin)) {
        return None;
    }
    if is_reported_alone(record, key) {
        return Some(Occasion::Began);
    }
    // A node may report several tasks at once.
    let begun = events.iter().filter_map(|event| match event {
        Event::JobRunning { id } if id.key.job == key.job => Some(id.key.index),
        _ => None,
    });
    let begun: Vec<_> = begun.collect();
    let has_run = |(index, element): (_, &Element)| {
        let runs = element.run.as_ref().is_some_and(|run| run.running_at.is_some());
        element.past().next().is_some() || (runs && !begun.contains(index))
    };
    let is_first = begun.first() == Some(&key.index) && !record.elements.iter().any(has_run);
    is_first.then_some(Occasion::Began)
}

/// The job ended before it was reported as running: a node may report both at once.
fn began_unreported(record: &Record, key: JobKey) -> Option<Occasion> {
    let element = record.elements.get(&key.index)?;
    let ran = element.run.as_ref().is_some_and(|run| run.running_at.is_some());
    let this_attempt = element.timeline.iter().rev();
    let mut this_attempt =
        this_attempt.take_while(|line| !matches!(line.what, TimelineEvent::Started { .. }));
    let is_reported = this_attempt.any(|line| matches!(line.what, TimelineEvent::Running));
    if !ran || is_reported || !is_requested(record, Some(MailEvent::Begin)) {
        return None;
    }
    let has_run = |(index, element): (&Option<ArrayIndex>, &Element)| {
        let runs = element.run.as_ref().is_some_and(|run| run.running_at.is_some());
        *index != key.index && (runs || element.past().next().is_some())
    };
    let is_first = is_reported_alone(record, key) || !record.elements.iter().any(has_run);
    is_first.then_some(Occasion::Began)
}

/// The job has ended or, for an array reported as a whole, its last task has.
fn ended_occasion(
    state: &State,
    record: &Record,
    key: JobKey,
    outcome: Outcome,
) -> Option<Occasion> {
    let is_hopeless = |element: &Element| {
        let lines = element.timeline.iter().rev().take(4);
        lines.into_iter().any(|line| matches!(line.what, TimelineEvent::Hopeless { .. }))
    };
    if is_reported_alone(record, key) {
        if is_requested(record, Some(MailEvent::InvalidDepend))
            && record.elements.get(&key.index).is_some_and(is_hopeless)
        {
            return Some(Occasion::Never);
        }
        return end_or_fail(record, is_success(outcome));
    }
    let is_wanted =
        [MailEvent::End, MailEvent::Fail].map(|event| is_requested(record, Some(event)));
    if is_wanted == [false; 2] || !state.is_all_done(key.job) {
        return None;
    }
    let all_good = record.elements.values().filter_map(|element| element.outcome).all(is_success);
    end_or_fail(record, all_good)
}

const fn is_success(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Completed | Outcome::Cancelled)
}

/// As in Slurm, END alone also reports failures.
fn end_or_fail(record: &Record, good: bool) -> Option<Occasion> {
    if !good && is_requested(record, Some(MailEvent::Fail)) {
        return Some(Occasion::Failed);
    }
    is_requested(record, Some(MailEvent::End)).then_some(Occasion::Ended)
}

fn write(state: &State, record: &Record, key: JobKey, occasion: &Occasion) -> Option<Notification> {
    let seen = view::job_view(state, &Viewer::ALL, key, &Waits::new())?;
    let of_task = matches!(occasion, Occasion::TimeUp | Occasion::Part(_));
    let is_whole = !of_task && !is_reported_alone(record, key);
    let notification = text::compose(state, record, &seen, is_whole, occasion);
    // There is no recipient if the owner's name is no address and none was given.
    Some(notification).filter(|notification| !notification.to.is_empty())
}

#[cfg(test)]
mod tests;
