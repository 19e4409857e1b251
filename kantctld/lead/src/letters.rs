//! Letters to users about their jobs (`--mail-type`): which event means which letter, and what
//! stands in it. Never sends one: whoever sends knows programs and clocks.
//!
//! A letter is news, not a record: each event is looked at once, by the controller that leads as it
//! is applied, and no later leader writes it again. What follows from no single event (that a
//! dependency can never be met, how much of a time limit is over) may be told by two leaders.

mod marks;
mod occasion;
mod text;

pub use marks::Marks;

use common::id::{ArrayIndex, JobKey};
use common::job::{MailEvent, Outcome, Phase};
use common::reason::WaitReason;
use occasion::Occasion;
use state::job::{Element, Record};
use state::story::StoryEvent;
use state::view::{self, Waits};
use state::{Event, State};
use std::collections::BTreeSet;

/// A letter, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// To whom: addresses, or names of users.
    pub to: Vec<String>,
    pub subject: String,
    /// Lines that begin with a word, never with a sign that a mail program could obey.
    pub body: String,
    /// What programs made for Slurm's MailProg (man slurm.conf) find in their environment.
    pub variables: Vec<(&'static str, String)>,
}

/// So many letters are written about one command: one may end an array of a hundred thousand tasks,
/// each of which its owner wants to be told of.
const AT_ONCE_MAX: usize = 1_000;

/// Writes letters about what happens.
#[derive(Debug, Default)]
pub struct Letters {
    /// Whoever was told that their job can never start: what it waits for may move on.
    told_never: BTreeSet<JobKey>,
}

impl Letters {
    /// The letters that these events mean, by the state right after them.
    pub fn after(&mut self, state: &State, events: &[Event]) -> Vec<Letter> {
        // Of an array that is told of as a whole: all its tasks may end at once.
        let mut over = BTreeSet::new();
        let mut is_news = |event: &Event| match event {
            Event::JobDone { key, .. } => {
                let record = state.job(key.job);
                record.is_none_or(|record| is_told_of(record, *key)) || over.insert(key.job)
            }
            _ => true,
        };
        let news = events.iter().rev().filter(|event| is_news(event));
        let news: Vec<&Event> = news.collect();
        let letters = news.into_iter().rev();
        letters.filter_map(|event| self.after_one(state, events, event)).take(AT_ONCE_MAX).collect()
    }

    fn after_one(&mut self, state: &State, events: &[Event], event: &Event) -> Option<Letter> {
        let key = event.key().or(match event {
            Event::JobSubmitted { job, repeated: false, .. } => Some(JobKey::single(*job)),
            Event::DependencyMoved { key } => Some(*key),
            Event::JobForgotten { job } => {
                self.told_never.retain(|key| key.job != *job);
                None
            }
            _ => None,
        })?;
        let record = state.job(key.job).filter(|record| wants(record, None))?;
        let occasion = match event {
            Event::JobRunning { .. } => began(record, key, events),
            Event::JobEnded { outcome: Outcome::TimedOut, .. } => {
                wants(record, Some(MailEvent::TimeLimit)).then_some(Occasion::TimeUp)
            }
            Event::JobEnded { .. } => began_untold(record, key),
            Event::JobDone { outcome, .. } => over(state, record, key, *outcome),
            Event::JobRequeued { .. } => (wants(record, Some(MailEvent::Requeue))
                && is_told_of(record, key))
            .then_some(Occasion::Requeued),
            Event::JobUpdated { .. } => {
                self.told_never.retain(|told| told.job != key.job);
                None
            }
            Event::JobSubmitted { .. } | Event::DependencyMoved { .. } => {
                return self.never(state, record, key);
            }
            _ => None,
        }?;
        write(state, record, key, &occasion)
    }

    /// What it waits for cannot come any more: told once, of an array as of one.
    fn never(&mut self, state: &State, record: &Record, key: JobKey) -> Option<Letter> {
        if !wants(record, Some(MailEvent::InvalidDepend)) {
            return None;
        }
        let index = key.index.or_else(|| record.elements.keys().next().copied().flatten());
        let whole = JobKey::single(key.job);
        let told = if is_told_of(record, key) { key } else { whole };
        if self.told_never.contains(&told) {
            return None;
        }
        let seen = view::job_view(state, record.key(index), &Waits::new())?;
        let detail = seen.reason.filter(|_| seen.phase == Phase::Pending)?.detail;
        let is_never = matches!(detail, WaitReason::DependencyNever { .. });
        if !is_never || !self.told_never.insert(told) {
            return None;
        }
        write(state, record, record.key(index), &Occasion::Never)
    }
}

/// Does a job's owner want letters about this, or about anything?
fn wants(record: &Record, event: Option<MailEvent>) -> bool {
    let on = record.spec.ask.mail.as_ref().map(|mail| &mail.on);
    on.is_some_and(|on| event.map_or(!on.is_none(), |event| on.has(event)))
}

/// Are there letters about this element by itself, and not about its array as a whole?
fn is_told_of(record: &Record, key: JobKey) -> bool {
    key.index.is_none() || wants(record, Some(MailEvent::ArrayTasks))
}

/// It runs; of an array told as a whole, its first task does.
fn began(record: &Record, key: JobKey, events: &[Event]) -> Option<Occasion> {
    if !wants(record, Some(MailEvent::Begin)) {
        return None;
    }
    if is_told_of(record, key) {
        return Some(Occasion::Began);
    }
    // A node tells of several tasks at once.
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

/// It ended before anybody was told that it ran: a node tells of both at once.
fn began_untold(record: &Record, key: JobKey) -> Option<Occasion> {
    let element = record.elements.get(&key.index)?;
    let ran = element.run.as_ref().is_some_and(|run| run.running_at.is_some());
    let this_attempt = element.story.iter().rev();
    let mut this_attempt =
        this_attempt.take_while(|line| !matches!(line.what, StoryEvent::Started { .. }));
    let is_told = this_attempt.any(|line| matches!(line.what, StoryEvent::Running));
    if !ran || is_told || !wants(record, Some(MailEvent::Begin)) {
        return None;
    }
    let has_run = |(index, element): (&Option<ArrayIndex>, &Element)| {
        let runs = element.run.as_ref().is_some_and(|run| run.running_at.is_some());
        *index != key.index && (runs || element.past().next().is_some())
    };
    let is_first = is_told_of(record, key) || !record.elements.iter().any(has_run);
    is_first.then_some(Occasion::Began)
}

/// It is over; of an array told as a whole, its last task is.
fn over(state: &State, record: &Record, key: JobKey, outcome: Outcome) -> Option<Occasion> {
    let is_hopeless = |element: &Element| {
        let lines = element.story.iter().rev().take(4);
        lines.into_iter().any(|line| matches!(line.what, StoryEvent::Hopeless { .. }))
    };
    if is_told_of(record, key) {
        if wants(record, Some(MailEvent::InvalidDepend))
            && record.elements.get(&key.index).is_some_and(is_hopeless)
        {
            return Some(Occasion::Never);
        }
        return ended(record, is_good(outcome));
    }
    let is_wanted = [MailEvent::End, MailEvent::Fail].map(|event| wants(record, Some(event)));
    if is_wanted == [false; 2] || !state.is_all_done(key.job) {
        return None;
    }
    let all_good = record.elements.values().filter_map(|element| element.outcome).all(is_good);
    ended(record, all_good)
}

const fn is_good(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Completed | Outcome::Cancelled)
}

/// As in Slurm, who asks for END alone is told of failures, too.
fn ended(record: &Record, good: bool) -> Option<Occasion> {
    if !good && wants(record, Some(MailEvent::Fail)) {
        return Some(Occasion::Failed);
    }
    wants(record, Some(MailEvent::End)).then_some(Occasion::Ended)
}

fn write(state: &State, record: &Record, key: JobKey, occasion: &Occasion) -> Option<Letter> {
    let seen = view::job_view(state, key, &Waits::new())?;
    let of_task = matches!(occasion, Occasion::TimeUp | Occasion::Part(_));
    let is_whole = !of_task && !is_told_of(record, key);
    let letter = text::letter(state, record, &seen, is_whole, occasion);
    // An owner whose name is no address, and who gave none.
    Some(letter).filter(|letter| !letter.to.is_empty())
}

#[cfg(test)]
mod tests;
