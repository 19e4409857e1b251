//! Which other jobs a job may wait for: those that were submitted, and are not forgotten where
//! their end counts. Never lets jobs wait for each other in a circle.

use super::TermState;
use super::look::{look, look_each};
use crate::remembered::State;
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::dependency::{Rule, Term};
use common::job::{Ask, Dependency};
use common::reason::Refusal;
use std::collections::BTreeSet;

/// What an ask is to wait for, with tasks of arrays that are named by their plain numbers as such.
pub(crate) fn meant(state: &State, ask: &Ask) -> Option<Dependency> {
    ask.dependency.as_ref().map(|dependency| dependency.renamed(|key| state.meant(key)))
}

/// How far each term of an ask is now, with its own tasks, rising.
///
/// # Errors
/// [`Refusal::UnknownJob`] of a job or task that never was; [`Refusal::BadAsk`] of one whose end is
/// forgotten.
pub(crate) fn standing(
    state: &State,
    ask: &Ask,
    own: &[Option<ArrayIndex>],
) -> Result<Vec<TermState>, Refusal> {
    let Some(dependency) = &ask.dependency else { return Ok(Vec::new()) };
    dependency.terms().iter().map(|term| of_term(state, term, own)).collect()
}

fn of_term(state: &State, term: &Term, own: &[Option<ArrayIndex>]) -> Result<TermState, Refusal> {
    let Some(on) = term.on else { return Ok(TermState::Open) };
    let unknown = || Refusal::UnknownJob { key: on };
    if on.job == JobId(0) || on.job > state.last_job() {
        return Err(unknown());
    }
    let Some(record) = state.job(on.job) else { return forgotten(state, term, on) };
    if on.index.is_some() && !record.elements.contains_key(&on.index) {
        return Err(unknown());
    }
    let task_for_task = term.rule == Rule::AfterCorr && on.index.is_none();
    if task_for_task && own.iter().all(Option::is_some) && !own.is_empty() {
        return Ok(match look_each(state, record, own.iter().flatten()) {
            TermState::Each { met, .. } if met.len() == own.len() => TermState::Met(state.now()),
            each => each,
        });
    }
    Ok(look(state, term, on))
}

/// It was submitted, and is over for so long that nobody here knows how it ended.
fn forgotten(state: &State, term: &Term, on: JobKey) -> Result<TermState, Refusal> {
    match term.rule {
        Rule::After | Rule::AfterAny => Ok(TermState::Met(state.now())),
        _ => {
            let rule = term.rule.word();
            let message = format!(
                "job {on} is over for so long that nobody here knows how it ended, which {rule} \
                 asks: leave it out, or write afterany:{on}"
            );
            Err(Refusal::BadAsk { message })
        }
    }
}

/// Would this job wait for itself, by way of others?
///
/// # Errors
/// [`Refusal::BadAsk`].
pub(crate) fn check_circle(state: &State, own: JobId, ask: &Ask) -> Result<(), Refusal> {
    let named = |ask: &Ask| -> Vec<JobId> {
        let terms = ask.dependency.iter().flat_map(|dependency| dependency.terms());
        terms.filter_map(|term| term.on).map(|on| on.job).collect()
    };
    let mut next = named(ask);
    let mut seen = BTreeSet::new();
    while let Some(job) = next.pop() {
        if job == own {
            let message = format!(
                "job {own} would wait for itself, by way of what it is to wait for: leave that out"
            );
            return Err(Refusal::BadAsk { message });
        }
        if seen.insert(job) && !state.is_all_done(job) {
            next.extend(state.job(job).map(|record| named(&record.spec.ask)).unwrap_or_default());
        }
    }
    Ok(())
}
