//! The effects of a job's start, end or requeue on the jobs that depend on it. They follow from the
//! events of a command and the events that these cause in turn, in a loop, so that a chain of
//! dependencies needs no recursion. Only jobs that can never start are changed themselves.

mod each;
mod hopeless;
mod reported;

pub use hopeless::ENDED_AT_ONCE;
pub(crate) use hopeless::end_some;

use crate::dependency::{Verdict, evaluate, verdict};
use crate::dependency_index::Counts;
use crate::event::Event;
use crate::job::{Record, TermState};
use crate::state::State;
use crate::timeline::{self, TimelineEvent};
use common::id::{JobId, JobKey};
use common::job::Phase;
use common::job::dependency::Term;
use reported::{Move, ReportedChanges};
use std::sync::Arc;

/// The elements that a change of a term concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Nothing,
    /// The task with the index of the task that changed.
    OneTask,
    All,
}

/// Applies the effects of a command's events, which are those from `first` on, on dependent jobs,
/// and the effects of those.
pub(crate) fn resolve(state: &mut State, events: &mut Vec<Event>, first: usize) {
    let mut at = first;
    let mut reported = ReportedChanges::default();
    let mut left = hopeless::ENDED_AT_ONCE;
    while let Some(event) = events.get(at) {
        at += 1;
        match event {
            Event::JobStarted { id, .. } => {
                let key = id.key;
                let counts = reported.changes_to_report(state, key.job, Move::Start);
                update_dependents(state, events, key, counts, &mut left);
            }
            Event::JobDone { key, .. } => {
                let key = *key;
                let counts = reported.changes_to_report(state, key.job, Move::End);
                update_dependents(state, events, key, counts, &mut left);
            }
            Event::JobRequeued { key, .. } => {
                let key = *key;
                let counts = reported.changes_to_report(state, key.job, Move::Requeue);
                update_dependents(state, events, key, counts, &mut left);
                hopeless::end_one(state, events, key);
            }
            Event::JobUpdated { key: JobKey { job, .. }, .. }
            | Event::JobSubmitted { job, repeated: false, .. } => {
                let job = *job;
                hopeless::end_all(state, events, job, &mut left);
            }
            _ => {}
        }
    }
}

/// Updates the dependents of a job or array task that changed; `counts` says what changed of the
/// whole job.
fn update_dependents(
    state: &mut State,
    events: &mut Vec<Event>,
    moved: JobKey,
    counts: &[Counts],
    left: &mut usize,
) {
    for id in state.dependency_index.dependents(moved, counts) {
        if let Some(key) = update_terms(state, events, id, moved, counts) {
            match key.index {
                Some(_) => hopeless::end_one(state, events, key),
                None => hopeless::end_all(state, events, id, left),
            }
        }
    }
    if state.dependency_index.has_singletons()
        && let Some(record) = state.job(moved.job)
    {
        mark_singletons(state, events, record);
    }
}

/// Marks the singletons of a renamed job's old and new name for another evaluation.
pub(crate) fn mark_renamed(state: &State, events: &mut Vec<Event>, job: JobId, before: &str) {
    let Some(record) = state.job(job) else { return };
    let (owner, now) = (record.spec.owner.uid, record.spec.ask.name.as_str());
    for name in [before, now].into_iter().filter(|_| before != now) {
        let alone = state.dependency_index.singletons(owner, name).filter(|id| *id != job);
        events.extend(alone.map(|id| Event::DependencyMoved { key: JobKey::single(id) }));
    }
}

/// Marks the first two singletons of the changed job's name for another evaluation. No other one
/// can be free, or have been. A job does not wait for tasks of its own array.
fn mark_singletons(state: &State, events: &mut Vec<Event>, moved: &Record) {
    let (owner, name) = (moved.spec.owner.uid, &moved.spec.ask.name);
    let first = state.dependency_index.singletons(owner, name).take(2).filter(|id| *id != moved.id);
    events.extend(first.map(|id| Event::DependencyMoved { key: JobKey::single(id) }));
}

/// Evaluates the terms of a job that name the changed one. Returns the elements concerned, if
/// anything changed.
fn update_terms(
    state: &mut State,
    events: &mut Vec<Event>,
    id: JobId,
    moved: JobKey,
    counts: &[Counts],
) -> Option<JobKey> {
    let record = state.job(id)?;
    let own = JobKey::single(id);
    let before = verdict_of(state, own);
    let mut change = Change::Nothing;
    for (place, term, on) in naming(record, moved) {
        let Some(standing) = state.job(id).and_then(|record| record.standing.get(place)) else {
            continue;
        };
        change = change.max(match standing {
            TermState::Met(_) => Change::Nothing,
            TermState::Each { .. } => {
                let is_whole = counts.contains(&Counts::Over);
                each::update_term(state, (id, place), (on.job, moved), is_whole)
            }
            before => {
                let now = evaluate(state, &term, on);
                match now == *before {
                    true => Change::Nothing,
                    false => put(state, (id, place), now),
                }
            }
        });
    }
    let key = match change {
        Change::Nothing => return None,
        Change::OneTask => JobKey { index: moved.index, ..own },
        Change::All => own,
    };
    events.push(Event::DependencyMoved { key });
    let is_free = matches!(verdict_of(state, key), Some(Verdict::Free(_)));
    let now = state.now;
    if before == Some(Verdict::Waits)
        && is_free
        && let Some(element) = state.element_mut(key)
        && element.phase == Phase::Pending
    {
        timeline::add(&mut element.timeline, now, TimelineEvent::Unblocked { by: moved });
    }
    Some(key)
}

/// The terms that name the changed job, with their indices.
fn naming(record: &Record, moved: JobKey) -> Vec<(usize, Term, JobKey)> {
    let names_it =
        |on: &JobKey| on.job == moved.job && (on.index.is_none() || on.index == moved.index);
    let terms = record.spec.ask.dependency.iter().flat_map(|dependency| dependency.terms());
    let terms = terms.enumerate();
    terms.filter_map(|(place, term)| Some((place, *term, term.on.filter(names_it)?))).collect()
}

/// The verdict of a job that is no array. A whole array has no single verdict.
fn verdict_of(state: &State, key: JobKey) -> Option<Verdict> {
    let (record, _) = state.element(key)?;
    Some(verdict(state, record, key.index))
}

/// Stores the state of a term.
fn put(state: &mut State, place: (JobId, usize), now: TermState) -> Change {
    let record = state.jobs.get_mut(&place.0).map(Arc::make_mut);
    if let Some(standing) = record.and_then(|record| record.standing.get_mut(place.1)) {
        *standing = now;
    }
    Change::All
}
