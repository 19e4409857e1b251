//! The jobs that a command addresses, and whether the actor has the right to them.

use crate::command::{Actor, SomeTasks, Target};
use crate::state::State;
use common::id::JobKey;
use common::job::{Phase, SetPlace};
use common::reason::{BadRequest, Refusal};
use common::right::Right;

/// The result of a command for one job or array task.
pub(super) enum Did {
    /// The job was changed, or was as requested already.
    Fine,
    Not(Refusal),
}

/// The jobs or tasks addressed: one job, all tasks of an array, or all components of a set, which
/// is named by its first component.
///
/// # Errors
/// The job does not exist, it is one component of several, or the actor may not change it.
pub(super) fn addressed_keys(
    state: &State,
    actor: &Actor,
    right: Right,
    target: Target,
) -> Result<Vec<JobKey>, Refusal> {
    let named = addressed_key(state, actor, right, target)?;
    let Some(place) = state.job(named.job).and_then(|record| record.set) else {
        let record = state.job(named.job).ok_or(Refusal::UnknownJob { key: named })?;
        if record.elements.contains_key(&named.index) {
            return Ok(vec![named]);
        }
        return match named.index {
            None => Ok(record.elements.keys().map(|index| record.key(*index)).collect()),
            Some(_) => Err(Refusal::UnknownJob { key: named }),
        };
    };
    if place.offset > 0 || target.key.component_offset().is_some() {
        return Err(Refusal::PartOfSet(place));
    }
    components(state, actor, right, place)
}

/// The components of a set, which may be in different queues.
fn components(
    state: &State,
    actor: &Actor,
    right: Right,
    place: SetPlace,
) -> Result<Vec<JobKey>, Refusal> {
    let keys = place.keys().filter(|key| state.element(*key).is_some());
    keys.map(|key| check_right(state, actor, right, key).map(|()| key)).collect()
}

/// The addressed tasks of an array.
///
/// # Errors
/// The array does not exist, it has none of these tasks, or the actor may not change it.
pub(super) fn addressed_tasks(
    state: &State,
    actor: &Actor,
    right: Right,
    tasks: SomeTasks,
) -> Result<Vec<JobKey>, Refusal> {
    let named = addressed_key(state, actor, right, Target { key: JobKey::single(tasks.job) })?;
    let record = state.job(named.job).ok_or(Refusal::UnknownJob { key: named })?;
    let indices = record.elements.within(tasks.first, tasks.last);
    let keys: Vec<JobKey> = indices.map(|index| record.key(index)).collect();
    match keys.is_empty() {
        true => Err(Refusal::UnknownJob { key: named }),
        false => Ok(keys),
    }
}

/// Like [`addressed_keys`], for commands that change one component of a set and not the whole set.
///
/// # Errors
/// The job does not exist, it is a set and not one component of it, or the actor may not change it.
pub(super) fn keys_of_single_component(
    state: &State,
    actor: &Actor,
    right: Right,
    target: Target,
) -> Result<Vec<JobKey>, Refusal> {
    let key = addressed_key(state, actor, right, target)?;
    match state.job(key.job).and_then(|record| record.set) {
        None => addressed_keys(state, actor, right, target),
        Some(place) if place.offset > 0 || target.key.component_offset().is_some() => Ok(vec![key]),
        Some(place) => Err(BadRequest::WholeSet { first: place.first, size: place.size }.into()),
    }
}

/// Like [`addressed_keys`], for commands to one component of a set that apply to the whole set.
///
/// # Errors
/// The job does not exist, or the actor may not change it.
pub(super) fn keys_of_whole_set(
    state: &State,
    actor: &Actor,
    right: Right,
    target: Target,
) -> Result<Vec<JobKey>, Refusal> {
    let key = addressed_key(state, actor, right, target)?;
    match state.job(key.job).and_then(|record| record.set) {
        None => addressed_keys(state, actor, right, target),
        Some(place) => components(state, actor, right, place),
    }
}

/// The addressed job, which may be one component of a set. For an array, the key as it was named.
///
/// # Errors
/// The job does not exist, or the actor may not change it.
pub(super) fn addressed_key(
    state: &State,
    actor: &Actor,
    right: Right,
    target: Target,
) -> Result<JobKey, Refusal> {
    let key = state.resolve_key(target.key);
    state.job(key.job).ok_or(Refusal::UnknownJob { key: target.key })?;
    if key.component_offset().is_some() {
        return Err(Refusal::UnknownJob { key });
    }
    check_right(state, actor, right, key)?;
    Ok(key)
}

/// Checks that the actor has the right to a job.
///
/// # Errors
/// The job does not exist, or [`Refusal::NotYours`].
pub(super) fn check_right(
    state: &State,
    actor: &Actor,
    right: Right,
    key: JobKey,
) -> Result<(), Refusal> {
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    if state.may(actor, record, right) {
        return Ok(());
    }
    let owner = record.spec.owner.name.clone();
    Err(Refusal::NotYours { job: key.job, owner, right })
}

/// Whether a set is in this phase with all its components, which are suspended and resumed
/// together. Always true for jobs outside a set.
pub(super) fn is_set_in_phase(state: &State, keys: &[JobKey], phase: Phase) -> bool {
    let is_set = keys.iter().any(|key| state.job(key.job).is_some_and(|job| job.set.is_some()));
    let is_so = |key: &JobKey| state.element(*key).is_some_and(|(_, e)| e.phase == phase);
    !is_set || keys.iter().all(is_so)
}

/// Moves jobs from one phase to another; a job that is there already stays as it is. The components
/// of a set move together.
///
/// # Errors
/// As [`apply_to_each`]: a job in a third phase, which `asked` names the request for.
pub(super) fn switch_phase(
    state: &mut State,
    keys: Vec<JobKey>,
    asked: &'static str,
    from: Phase,
    to: Phase,
    mut switch: impl FnMut(&mut State, JobKey),
) -> Result<(), Refusal> {
    let is_uniform = is_set_in_phase(state, &keys, from) || is_set_in_phase(state, &keys, to);
    apply_to_each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase).filter(|_| is_uniform) {
            Some(phase) if phase == from => switch(state, key),
            Some(phase) if phase == to => {}
            _ => return wrong_phase_refusal(state, key, asked),
        }
        Did::Fine
    })
}

/// Applies a function to each job.
///
/// # Errors
/// The first refusal, if the function failed for every job.
pub(super) fn apply_to_each(
    keys: Vec<JobKey>,
    mut act: impl FnMut(JobKey) -> Did,
) -> Result<(), Refusal> {
    let (mut fine, mut refused) = (false, None);
    for key in keys {
        match act(key) {
            Did::Fine => fine = true,
            Did::Not(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match refused.filter(|_| !fine) {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

pub(super) fn is_owner(state: &State, actor: &Actor, key: JobKey) -> bool {
    state.job(key.job).is_some_and(|record| record.spec.owner.uid == actor.uid)
}

/// Refuses users who are not operators.
///
/// # Errors
/// [`Refusal::OperatorsOnly`].
pub(super) fn operators_only(actor: &Actor) -> Result<(), Refusal> {
    match actor.has(Right::Operate) {
        true => Ok(()),
        false => Err(Refusal::OperatorsOnly { uid: actor.uid }),
    }
}

/// The refusal for a job that has ended, or whose phase does not allow the command.
pub(super) fn wrong_phase_refusal(state: &State, key: JobKey, verb: &str) -> Did {
    let Some((_, element)) = state.element(key) else {
        return Did::Not(Refusal::UnknownJob { key });
    };
    let (verb, phase) = (verb.to_owned(), element.phase);
    Did::Not(match element.outcome {
        Some(outcome) => Refusal::AlreadyDone { key, verb, outcome },
        None => Refusal::WrongPhase { key, verb, phase },
    })
}
