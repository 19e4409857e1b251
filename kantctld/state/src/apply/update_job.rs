//! `UpdateJob`: changes the request of a waiting job, by the rules by which jobs are accepted
//! (Slurm: `scontrol update job`). For its owner, a coordinator or an operator. The job keeps its
//! id and its place. Of a job that has started, name, comment, mail options and time limit can be
//! changed; only operators raise the time limit.
//!
//! All tasks of an array share one request, which can be changed while no task has started. The
//! array's limit of running tasks, and what can be changed of running jobs, can be changed at any
//! time. A job that has nodes never loses anything but time.

mod by_coordinator;

use super::admission::{self, Applicant};
use super::submit_job::fill_in;
use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::dependency;
use crate::dependents;
use crate::event::Event;
use crate::job::{Element, Record, TermState};
use crate::living::Bounds;
use crate::state::State;
use common::id::{JobId, JobKey, NodeName};
use common::job::attributes::TimeLimit;
use common::job::check::check_ask;
use common::job::{Ask, Attribute, Patch, Phase};
use common::reason::{BadRequest, Refusal};
use common::right::{JobAction, Right};
use std::collections::BTreeSet;
use std::sync::Arc;

const RIGHT: Right = JobAction::Update.right();

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
    patch: &Patch,
) -> Result<(), Refusal> {
    // Existence and ownership of the job are checked first.
    target::keys_of_single_component(state, actor, RIGHT, target)?;
    let target = Target { key: state.resolve_key(target.key) };
    let ask = patched_request(state, target.key, patch, actor)?;
    if patch.has(Attribute::JobName) {
        dependency::check_circle(state, target.key.job, &ask)?;
    }
    let standing = match patch.has(Attribute::Dependency) {
        true => Some(term_states(state, target.key.job, &ask)?),
        false => None,
    };
    let before = state.job(target.key.job).map(|record| record.spec.ask.name.clone());
    let times = (ask.begin_at, ask.deadline);
    change_request(state, target.key.job, |record| {
        record.spec.ask = ask;
        if let Some(standing) = standing {
            record.standing = standing;
        }
    });
    let alive = |key: &JobKey| state.element(*key).is_some_and(|(_, e)| e.phase != Phase::Done);
    let followers: Vec<JobKey> =
        other_affected_components(state, target.key.job, patch).filter(alive).collect();
    for key in &followers {
        change_request(state, key.job, |record| {
            let ask = &mut record.spec.ask;
            (ask.begin_at, ask.deadline) = times;
        });
    }
    // An array gets one event, however many tasks share the request.
    let whole = JobKey { index: None, ..target.key };
    let what = patch.summary();
    for key in std::iter::once(whole).chain(followers) {
        let (nodes, what) = (nodes_of(state, key.job), what.clone());
        state.record_event(events, Event::JobUpdated { key, by: actor.uid, what, nodes });
    }
    if let Some(before) = before.filter(|_| patch.has(Attribute::JobName)) {
        dependents::mark_renamed(state, events, target.key.job, &before);
    }
    Ok(())
}

/// Changes the request of a job, and all indexes that depend on it.
fn change_request(state: &mut State, job: JobId, act: impl FnOnce(&mut Record)) {
    let lives = !state.is_all_done(job);
    let Some(record) = state.jobs.get_mut(&job) else { return };
    let before = Bounds::of(&record.spec.ask);
    state.dependency_index.unbind(record);
    if lives {
        state.dependency_index.remove_finished(record);
    }
    act(Arc::make_mut(record));
    let now = Bounds::of(&record.spec.ask);
    if let Some(record) = state.jobs.get(&job) {
        state.dependency_index.bind(record, |job| state.jobs.contains_key(&job));
        if lives {
            state.dependency_index.insert_unfinished(record);
        }
    }
    state.living.replace_bounds(job, before, now);
}

/// The nodes that run any part of a job.
fn nodes_of(state: &State, job: JobId) -> Vec<NodeName> {
    let elements = state.job(job).into_iter().flat_map(|record| record.elements.values());
    let runs = elements.filter(|element| element.phase != Phase::Done);
    let nodes = runs.filter_map(|element| element.run.as_ref()).flat_map(|run| run.holding_nodes());
    nodes.collect::<BTreeSet<NodeName>>().into_iter().collect()
}

/// The other components of a set, if the patch changes what applies to the whole set: the begin
/// time and the deadline.
fn other_affected_components(
    state: &State,
    job: JobId,
    patch: &Patch,
) -> impl Iterator<Item = JobKey> {
    let is_shared = patch.has(Attribute::Begin) || patch.has(Attribute::Deadline);
    let set = state.job(job).and_then(|record| record.set).filter(|_| is_shared);
    set.into_iter().flat_map(|set| set.keys()).filter(move |key| key.job != job)
}

/// The current state of each term of the new dependency.
fn term_states(state: &State, job: JobId, ask: &Ask) -> Result<Vec<TermState>, Refusal> {
    dependency::check_circle(state, job, ask)?;
    let record = state.job(job).into_iter();
    let own: Vec<_> = record.flat_map(|record| record.elements.keys().copied()).collect();
    dependency::term_states(state, ask, &own)
}

/// The request of a job after a patch. `apply` stores it, and the leader asks the engine whether
/// any node could hold it.
///
/// # Errors
/// The reason why the job cannot be changed, or why the new request is not admitted.
pub fn patched_request(
    state: &State,
    key: JobKey,
    patch: &Patch,
    actor: &Actor,
) -> Result<Ask, Refusal> {
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    if key.index.is_some() {
        return Err(BadRequest::OneTask { job: key.job }.into());
    }
    BadRequest::check_patch(patch)?;
    let ask = patched_by_role(state, record, patch, actor.operator)?;
    if !actor.operator && (patch.has(Attribute::Queue) || patch.has(Attribute::Account)) {
        check_held(state, record, actor)?;
    }
    if !actor.operator && record.spec.owner.uid != actor.uid {
        by_coordinator::check(state, record, patch, &ask, actor)?;
    }
    Ok(ask)
}

/// The same, by the rules for owners and operators.
fn patched_by_role(
    state: &State,
    record: &Record,
    patch: &Patch,
    operator: bool,
) -> Result<Ask, Refusal> {
    let ask = &record.spec.ask;
    let key = record.key(None);
    if patch.has(Attribute::ArrayLimit) && ask.array.is_none() {
        return Err(BadRequest::NoArray { job: key.job }.into());
    }
    if patch.value::<i32>(Attribute::Nice).is_some_and(|nice| *nice < 0) && !operator {
        return Err(Refusal::NiceNegative);
    }
    check_set_attributes(record, patch)?;
    let mut phases = record.elements.values().map(|element| element.phase);
    let (waits, all_wait) =
        (phases.clone().any(|p| p == Phase::Pending), phases.all(|p| p == Phase::Pending));
    let lives = |element: &Element| !matches!(element.phase, Phase::Completing | Phase::Done);
    let has_nodes = !all_wait && record.elements.values().any(lives);
    if has_nodes && patch.is_allowed_after_start() {
        check_limit(record, patch, operator)?;
        let changed = patch.apply_to(ask);
        check_ask(&changed)?;
        return Ok(changed);
    }
    if !waits && has_nodes {
        return Err(BadRequest::HasStarted { job: key.job }.into());
    }
    if !waits {
        let first = record.elements.keys().next().copied().flatten();
        return match target::wrong_phase_refusal(state, record.key(first), "update") {
            Did::Not(refusal) => Err(refusal),
            Did::Fine => Err(Refusal::UnknownJob { key }),
        };
    }
    if !all_wait && !patch.is_only_array_limit() {
        return Err(BadRequest::SomeHaveStarted { job: key.job }.into());
    }
    let changed = patch.apply_to(ask);
    let changed = Ask { dependency: dependency::resolved_dependencies(state, &changed), ..changed };
    check_ask(&changed)?;
    if patch.is_only_array_limit() {
        return Ok(changed);
    }
    let who = Applicant { owner: &record.spec.owner, groups: &record.groups, operator };
    let changed = fill_in(state, &who, &changed)?;
    admission::check(state, &who, &changed)?;
    Ok(changed)
}

/// Refuses changes to a later component that would apply to the whole set.
fn check_set_attributes(record: &Record, patch: &Patch) -> Result<(), Refusal> {
    let Some(set) = record.set.filter(|set| set.offset > 0) else { return Ok(()) };
    let mut shared = patch.attributes().filter(|attribute| attribute.row().is_of_set);
    let Some(option) = shared.next() else { return Ok(()) };
    Err(BadRequest::OfWholeSet { option, set }.into())
}

/// Who is no operator, and does not coordinate a job, cannot move it out of the reach of the
/// coordinator who holds it.
fn check_held(state: &State, record: &Record, actor: &Actor) -> Result<(), Refusal> {
    let mut elements = record.elements.iter();
    let held = elements.find(|(_, element)| element.held_by.includes_coordinator());
    match held.filter(|_| !state.coordinates(&actor.roles, &record.spec.ask)) {
        Some((index, _)) => Err(Refusal::HeldByCoordinator { key: record.key(*index) }),
        None => Ok(()),
    }
}

/// Once a job has started, its user may only lower the time limit; operators may raise it.
fn check_limit(record: &Record, patch: &Patch, operator: bool) -> Result<(), Refusal> {
    let limit: Option<&TimeLimit> = patch.value(Attribute::Time).filter(|_| !operator);
    let (Some(limit), Some(before)) = (limit, record.spec.ask.time_limit) else { return Ok(()) };
    // Without a value it is unlimited.
    match limit.0.is_none_or(|limit| limit > before) {
        true => Err(BadRequest::TimeRaised { job: record.id, before }.into()),
        false => Ok(()),
    }
}
