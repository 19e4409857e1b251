//! Checks of the dependencies in a request: the other jobs must exist, must not be forgotten if
//! their outcome matters, and must not form a cycle.

use super::evaluate::{evaluate, evaluate_each};
use crate::job::TermState;
use crate::state::State;
use common::id::{ArrayIndex, JobId, JobKey, Uid};
use common::job::dependency::{Rule, Term};
use common::job::{Ask, Dependency};
use common::reason::{BadRequest, Refusal};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum product of a job's terms and its tasks. Lists show the state of each term for each
/// task. The limit allows ten terms for the largest array, and any number that fits in a request
/// for a single job.
const TERMS_OF_TASKS_MAX: usize = 1_000_000;

/// The dependencies of a request, with plain numbers of array tasks replaced by their keys.
pub(crate) fn resolved_dependencies(state: &State, ask: &Ask) -> Option<Dependency> {
    ask.dependency.as_ref().map(|dependency| dependency.map_job_keys(|key| state.resolve_key(key)))
}

/// The current state of each term of a request. `own` holds the job's own elements in ascending
/// order.
///
/// # Errors
/// [`Refusal::UnknownJob`] if a job or task never existed; [`Refusal::BadAsk`] if its outcome is
/// forgotten, or if there are too many terms for the number of tasks.
pub(crate) fn term_states(
    state: &State,
    ask: &Ask,
    own: &[Option<ArrayIndex>],
) -> Result<Vec<TermState>, Refusal> {
    let Some(dependency) = &ask.dependency else { return Ok(Vec::new()) };
    let (terms, tasks) = (dependency.terms().len(), own.len());
    if terms.saturating_mul(tasks) > TERMS_OF_TASKS_MAX {
        let most = TERMS_OF_TASKS_MAX / tasks.max(1);
        return Err(BadRequest::TooManyDependencies { tasks, terms, most }.into());
    }
    dependency.terms().iter().map(|term| evaluate_term(state, term, own)).collect()
}

fn evaluate_term(
    state: &State,
    term: &Term,
    own: &[Option<ArrayIndex>],
) -> Result<TermState, Refusal> {
    let Some(on) = term.on else { return Ok(TermState::Open) };
    let unknown = || Refusal::UnknownJob { key: on };
    if on.job == JobId(0) || on.job > state.last_job_id() {
        return Err(unknown());
    }
    let Some(record) = state.job(on.job) else { return state_of_forgotten(state, term, on) };
    if on.index.is_some() && !record.elements.contains_key(&on.index) {
        return Err(unknown());
    }
    let task_for_task = term.rule == Rule::AfterCorr && on.index.is_none();
    if task_for_task && own.iter().all(Option::is_some) && !own.is_empty() {
        return Ok(match evaluate_each(state, record, own.iter().flatten()) {
            TermState::Each { met, .. } if met.len() == own.len() => TermState::Met(state.now()),
            each => each,
        });
    }
    Ok(evaluate(state, term, on))
}

/// The state of a term whose job was submitted, but has been forgotten.
fn state_of_forgotten(state: &State, term: &Term, on: JobKey) -> Result<TermState, Refusal> {
    match term.rule {
        Rule::After | Rule::AfterAny => Ok(TermState::Met(state.now())),
        rule => Err(BadRequest::OutcomeForgotten { on, rule }.into()),
    }
}

/// Checks that a job would not wait for itself through other jobs. A `singleton` waits for all
/// earlier jobs of its name, and the components of a set wait for what the first component waits
/// for.
///
/// # Errors
/// [`Refusal::BadAsk`].
pub(crate) fn check_circle(state: &State, own: JobId, ask: &Ask) -> Result<(), Refusal> {
    let Some(owner) = state.job(own).map(|record| record.spec.owner.uid) else { return Ok(()) };
    let mut seen = BTreeSet::new();
    let mut looked = BTreeMap::new();
    // By its new request, which may contain another name.
    let mut next = named(ask);
    next.extend(earlier_same_name(state, (own, owner, ask), own, &mut looked));
    while let Some(job) = next.pop() {
        let job = state.job(job).and_then(|record| record.set).map_or(job, |set| set.first);
        if job == own {
            return Err(BadRequest::WaitsForItself { job: own }.into());
        }
        if !seen.insert(job) || state.is_all_done(job) {
            continue;
        }
        let Some(record) = state.job(job) else { continue };
        let (of, asks) = (record.spec.owner.uid, &record.spec.ask);
        next.extend(named(asks));
        next.extend(earlier_same_name(state, (job, of, asks), own, &mut looked));
        let waits_for_own = own < job && is_singleton(asks) && of == owner && asks.name == ask.name;
        next.extend(waits_for_own.then_some(own));
    }
    Ok(())
}

fn named(ask: &Ask) -> Vec<JobId> {
    let terms = ask.dependency.iter().flat_map(|dependency| dependency.terms());
    terms.filter_map(|term| term.on).map(|on| on.job).collect()
}

fn is_singleton(ask: &Ask) -> bool {
    ask.dependency.as_ref().is_some_and(Dependency::is_singleton)
}

/// The unfinished earlier jobs of the same name, if the job is a `singleton`; without the job
/// `but`, and without those that were visited before.
fn earlier_same_name<'a>(
    state: &State,
    (job, owner, ask): (JobId, Uid, &'a Ask),
    but: JobId,
    looked: &mut BTreeMap<(Uid, &'a str), JobId>,
) -> Vec<JobId> {
    if !is_singleton(ask) {
        return Vec::new();
    }
    let name = (owner, ask.name.as_str());
    let from = looked.get(&name).copied().unwrap_or_default();
    looked.insert(name, from.max(job));
    state.dependency_index.named_within(name, from, job).filter(|id| *id != but).collect()
}
