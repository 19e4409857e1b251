//! Which other jobs a job may wait for: those that were submitted, and are not forgotten where
//! their end counts. Never lets jobs wait for each other in a circle.

use super::TermState;
use super::look::{look, look_each};
use crate::remembered::State;
use common::id::{ArrayIndex, JobId, JobKey, Uid};
use common::job::dependency::{Rule, Term};
use common::job::{Ask, Dependency};
use common::reason::Refusal;
use std::collections::{BTreeMap, BTreeSet};

/// The most terms of a job times its tasks: lists say of each task how far each term is. Ten terms
/// of the largest array, all that can be written of a job that is none.
const TERMS_OF_TASKS_MAX: usize = 1_000_000;

/// What an ask is to wait for, with tasks of arrays that are named by their plain numbers as such.
pub(crate) fn meant(state: &State, ask: &Ask) -> Option<Dependency> {
    ask.dependency.as_ref().map(|dependency| dependency.renamed(|key| state.meant(key)))
}

/// How far each term of an ask is now, with its own tasks, rising.
///
/// # Errors
/// [`Refusal::UnknownJob`] of a job or task that never was; [`Refusal::BadAsk`] of one whose end is
/// forgotten, and of more terms than so many tasks may have.
pub(crate) fn standing(
    state: &State,
    ask: &Ask,
    own: &[Option<ArrayIndex>],
) -> Result<Vec<TermState>, Refusal> {
    let Some(dependency) = &ask.dependency else { return Ok(Vec::new()) };
    let (terms, tasks) = (dependency.terms().len(), own.len());
    if terms.saturating_mul(tasks) > TERMS_OF_TASKS_MAX {
        let most = TERMS_OF_TASKS_MAX / tasks.max(1);
        let message = format!(
            "{tasks} tasks that wait for {terms} jobs each: of so many tasks each may wait for \
             {most}. Let one job wait for them all, and the array for that one"
        );
        return Err(Refusal::BadAsk { message });
    }
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

/// Would this job wait for itself, by way of others? Of one name, who is to run alone waits for all
/// that were submitted before; all components of a set wait for what the first waits for.
///
/// # Errors
/// [`Refusal::BadAsk`].
pub(crate) fn check_circle(state: &State, own: JobId, ask: &Ask) -> Result<(), Refusal> {
    let Some(owner) = state.job(own).map(|record| record.spec.owner.uid) else { return Ok(()) };
    let mut seen = BTreeSet::new();
    let mut looked = BTreeMap::new();
    // As it is to be, not as it is: by then it may have another name.
    let mut next = named(ask);
    next.extend(before(state, (own, owner, ask), own, &mut looked));
    while let Some(job) = next.pop() {
        let job = state.job(job).and_then(|record| record.set).map_or(job, |set| set.first);
        if job == own {
            let message = format!(
                "job {own} would wait for itself, by way of what it is to wait for (`singleton` \
                 waits for all of its name that were submitted before): leave that out"
            );
            return Err(Refusal::BadAsk { message });
        }
        if !seen.insert(job) || state.is_all_done(job) {
            continue;
        }
        let Some(record) = state.job(job) else { continue };
        let (of, asks) = (record.spec.owner.uid, &record.spec.ask);
        next.extend(named(asks));
        next.extend(before(state, (job, of, asks), own, &mut looked));
        let waits_for_own = own < job && is_alone(asks) && of == owner && asks.name == ask.name;
        next.extend(waits_for_own.then_some(own));
    }
    Ok(())
}

fn named(ask: &Ask) -> Vec<JobId> {
    let terms = ask.dependency.iter().flat_map(|dependency| dependency.terms());
    terms.filter_map(|term| term.on).map(|on| on.job).collect()
}

fn is_alone(ask: &Ask) -> bool {
    ask.dependency.as_ref().is_some_and(Dependency::is_singleton)
}

/// Those of its name before it that live, if it is to run alone; but for this one, and for those
/// that were `looked` at.
fn before<'a>(
    state: &State,
    (job, owner, ask): (JobId, Uid, &'a Ask),
    but: JobId,
    looked: &mut BTreeMap<(Uid, &'a str), JobId>,
) -> Vec<JobId> {
    if !is_alone(ask) {
        return Vec::new();
    }
    let name = (owner, ask.name.as_str());
    let from = looked.get(&name).copied().unwrap_or_default();
    looked.insert(name, from.max(job));
    state.ties.named_within(name, from, job).filter(|id| *id != but).collect()
}
