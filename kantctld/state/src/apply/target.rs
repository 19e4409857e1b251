//! Which jobs a command means, and who may change them. Never changes one.

use crate::command::{Actor, SomeTasks, Target};
use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::reason::Refusal;

/// What a command did to one job or array task.
pub(super) enum Did {
    /// It changed, or was as asked already.
    Fine,
    /// It could not be.
    Not(Refusal),
}

/// The jobs or tasks meant: one, all tasks of an array, or all components of a set, which is named
/// by its first.
///
/// # Errors
/// There is no such job, it is one component of several, or the actor may not change it.
pub(super) fn keys(state: &State, actor: &Actor, target: Target) -> Result<Vec<JobKey>, Refusal> {
    let named = one(state, actor, target)?;
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
    if place.offset > 0 || target.key.offset().is_some() {
        return Err(Refusal::PartOfSet(place));
    }
    Ok(place.keys().filter(|key| state.element(*key).is_some()).collect())
}

/// The tasks of an array that are meant.
///
/// # Errors
/// There is no such array, none of its tasks is meant, or the actor may not change it.
pub(super) fn some(state: &State, actor: &Actor, tasks: SomeTasks) -> Result<Vec<JobKey>, Refusal> {
    let named = one(state, actor, Target { key: JobKey::single(tasks.job) })?;
    let record = state.job(named.job).ok_or(Refusal::UnknownJob { key: named })?;
    let indices = record.elements.within(tasks.first, tasks.last);
    let keys: Vec<JobKey> = indices.map(|index| record.key(index)).collect();
    match keys.is_empty() {
        true => Err(Refusal::UnknownJob { key: named }),
        false => Ok(keys),
    }
}

/// The same, where one component of a set is changed and not all of it.
///
/// # Errors
/// There is no such job, it is a set and not one component of it, or the actor may not change it.
pub(super) fn of_one(state: &State, actor: &Actor, target: Target) -> Result<Vec<JobKey>, Refusal> {
    let key = one(state, actor, target)?;
    match state.job(key.job).and_then(|record| record.set) {
        None => keys(state, actor, target),
        Some(place) if place.offset > 0 || target.key.offset().is_some() => Ok(vec![key]),
        Some(place) => {
            let (set, last) = (place.first, place.size - 1);
            let message = format!(
                "job {set} has components that ask for different things: name one of {set}+0 to \
                 {set}+{last}"
            );
            Err(Refusal::BadAsk { message })
        }
    }
}

/// The same, where what is said of one component of a set holds for all of it.
///
/// # Errors
/// There is no such job, or the actor may not change it.
pub(super) fn whole(state: &State, actor: &Actor, target: Target) -> Result<Vec<JobKey>, Refusal> {
    let key = one(state, actor, target)?;
    match state.job(key.job).and_then(|record| record.set) {
        None => keys(state, actor, target),
        Some(place) => Ok(place.keys().filter(|key| state.element(*key).is_some()).collect()),
    }
}

/// The job meant, which may be one component of a set; of an array whatever was named.
///
/// # Errors
/// There is no such job, or the actor may not change it.
pub(super) fn one(state: &State, actor: &Actor, target: Target) -> Result<JobKey, Refusal> {
    let key = state.meant(target.key);
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key: target.key })?;
    if key.offset().is_some() {
        return Err(Refusal::UnknownJob { key });
    }
    let owner = &record.spec.owner;
    if !actor.operator && actor.uid != owner.uid {
        return Err(Refusal::NotYours { job: key.job, owner: owner.name.clone() });
    }
    Ok(key)
}

/// Is a set, all of whose components go on or stand still together, in this phase, all of it? A
/// job that is in none may be in any.
pub(super) fn all_are(state: &State, keys: &[JobKey], phase: Phase) -> bool {
    let is_set = keys.iter().any(|key| state.job(key.job).is_some_and(|job| job.set.is_some()));
    let is_so = |key: &JobKey| state.element(*key).is_some_and(|(_, e)| e.phase == phase);
    !is_set || keys.iter().all(is_so)
}

/// Does something to each; refused only if it went well for none, with the first one's reason.
///
/// # Errors
/// As said.
pub(super) fn each(keys: Vec<JobKey>, mut act: impl FnMut(JobKey) -> Did) -> Result<(), Refusal> {
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

/// Is it the actor's own job?
pub(super) fn is_owner(state: &State, actor: &Actor, key: JobKey) -> bool {
    state.job(key.job).is_some_and(|record| record.spec.owner.uid == actor.uid)
}

/// An operator's business.
///
/// # Errors
/// The actor is none.
pub(super) const fn operators_only(actor: &Actor) -> Result<(), Refusal> {
    if actor.operator { Ok(()) } else { Err(Refusal::OperatorsOnly { uid: actor.uid }) }
}

/// What is said of a job that is over or in a phase that does not allow what was asked.
pub(super) fn wrong_phase(state: &State, key: JobKey, verb: &str) -> Did {
    let Some((_, element)) = state.element(key) else {
        return Did::Not(Refusal::UnknownJob { key });
    };
    let (verb, phase) = (verb.to_owned(), element.phase);
    Did::Not(match element.outcome {
        Some(outcome) => Refusal::AlreadyDone { key, verb, outcome },
        None => Refusal::WrongPhase { key, verb, phase },
    })
}
