//! How far a term is, by the job it names. Never remembers; `follow` writes down what this says.

use super::TermState;
use crate::job::{Element, Record};
use crate::living::last_of;
use crate::remembered::State;
use common::id::{ArrayIndex, JobKey};
use common::job::dependency::{Rule, Term};
use common::job::{Outcome, Phase};
use std::collections::BTreeSet;

/// By the job as it is now; one that is not there is told as [`TermState::Open`].
pub(super) fn look(state: &State, term: &Term, on: JobKey) -> TermState {
    let Some(record) = state.job(on.job) else { return TermState::Open };
    match term.rule {
        Rule::Singleton => TermState::Open,
        Rule::After => started(state, record, on, term),
        _ if !is_over(state, record, on) => TermState::Open,
        Rule::AfterAny => TermState::Met(state.now()),
        rule => {
            let is_met = meant(record, on).all(succeeded) == (rule != Rule::AfterNotOk);
            if is_met { TermState::Met(state.now()) } else { TermState::Failed }
        }
    }
}

/// Task for task, by the other array as it is now.
pub(super) fn look_each<'a>(
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
            // Without one of its number, all of them count (as slurmctld has it).
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

/// Did it do its work?
pub(super) fn succeeded(element: &Element) -> bool {
    element.outcome == Some(Outcome::Completed)
}

/// The elements meant: one task, or all that there are.
pub(super) fn meant(record: &Record, on: JobKey) -> impl Iterator<Item = &Element> {
    let one = on.index.and_then(|_| record.elements.get(&on.index));
    let all = on.index.is_none().then(|| record.elements.values());
    one.into_iter().chain(all.into_iter().flatten())
}

fn is_over(state: &State, record: &Record, on: JobKey) -> bool {
    match on.index {
        None => state.is_all_done(record.id),
        Some(_) => meant(record, on).all(|element| element.phase == Phase::Done),
    }
}

/// Of those of a job up to this one, the last that waits for its start. From behind: tasks start in
/// rising order, so one that waits is found at once; those that are over are passed over.
pub(super) fn last_pending(state: &State, up_to: JobKey) -> Option<JobKey> {
    let is_pending =
        |key: &JobKey| state.element(*key).is_some_and(|(_, e)| e.phase == Phase::Pending);
    state.living.up_to(up_to).rev().find(is_pending)
}

fn started(state: &State, record: &Record, on: JobKey, term: &Term) -> TermState {
    let waits = match on.index {
        None => last_pending(state, last_of(record.id)).is_some(),
        Some(_) => meant(record, on).any(|element| element.phase == Phase::Pending),
    };
    if waits {
        return TermState::Open;
    }
    let began = |element: &Element| {
        let run = element.run.as_ref().map(|run| run.allocated_at);
        run.or(element.done_at).unwrap_or_default()
    };
    let last = meant(record, on).map(began).max().unwrap_or_default();
    TermState::Met(last + term.delay)
}
