//! Evaluates terms on the current state of the jobs that they name. `dependents` stores the
//! results.

use crate::job::{Element, Record, TermState};
use crate::living::highest_key_of;
use crate::state::State;
use common::id::{ArrayIndex, JobKey};
use common::job::dependency::{Rule, Term};
use common::job::{Outcome, Phase};
use std::collections::BTreeSet;

/// The current state of a term; [`TermState::Open`] if the job does not exist.
pub(crate) fn evaluate(state: &State, term: &Term, on: JobKey) -> TermState {
    let Some(record) = state.job(on.job) else { return TermState::Open };
    match term.rule {
        Rule::Singleton => TermState::Open,
        Rule::After => evaluate_started(state, record, on, term),
        _ if !is_over(state, record, on) => TermState::Open,
        Rule::AfterAny => TermState::Met(state.now()),
        rule => {
            let is_met = elements_named(record, on).all(succeeded) == (rule != Rule::AfterNotOk);
            if is_met { TermState::Met(state.now()) } else { TermState::Failed }
        }
    }
}

/// The current state of a term that compares task by task with another array.
pub(crate) fn evaluate_each<'a>(
    state: &State,
    on: &Record,
    own: impl Iterator<Item = &'a ArrayIndex>,
) -> TermState {
    let all_over = state.is_all_done(on.id);
    let all_well = all_over && on.elements.values().all(succeeded);
    let (mut met, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for index in own {
        match on.elements.get(&Some(*index)) {
            Some(other) if other.phase != Phase::Done => {}
            Some(other) => {
                if succeeded(other) { &mut met } else { &mut failed }.insert(*index);
            }
            // A task without a counterpart depends on the whole array, as in slurmctld.
            None if all_well => {
                met.insert(*index);
            }
            None if all_over => {
                failed.insert(*index);
            }
            None => {}
        }
    }
    TermState::Each { met, failed }
}

pub(crate) fn succeeded(element: &Element) -> bool {
    element.outcome == Some(Outcome::Completed)
}

/// The elements that a key names: one task, or all elements.
pub(super) fn elements_named(record: &Record, on: JobKey) -> impl Iterator<Item = &Element> {
    let one = on.index.and_then(|_| record.elements.get(&on.index));
    let all = on.index.is_none().then(|| record.elements.values());
    one.into_iter().chain(all.into_iter().flatten())
}

fn is_over(state: &State, record: &Record, on: JobKey) -> bool {
    match on.index {
        None => state.is_all_done(record.id),
        Some(_) => elements_named(record, on).all(|element| element.phase == Phase::Done),
    }
}

/// The last element of a job up to this key that still waits for its start. It is searched for from
/// the end: tasks start in ascending order, so a waiting one is found at once. Finished elements
/// are skipped.
pub(crate) fn last_pending(state: &State, up_to: JobKey) -> Option<JobKey> {
    let is_pending =
        |key: &JobKey| state.element(*key).is_some_and(|(_, e)| e.phase == Phase::Pending);
    state.living.up_to(up_to).rev().find(is_pending)
}

fn evaluate_started(state: &State, record: &Record, on: JobKey, term: &Term) -> TermState {
    let waits = match on.index {
        None => last_pending(state, highest_key_of(record.id)).is_some(),
        Some(_) => elements_named(record, on).any(|element| element.phase == Phase::Pending),
    };
    if waits {
        return TermState::Open;
    }
    let began = |element: &Element| {
        let run = element.run.as_ref().map(|run| run.allocated_at);
        run.or(element.done_at).unwrap_or_default()
    };
    let last = elements_named(record, on).map(began).max().unwrap_or_default();
    TermState::Met(last + term.delay)
}
