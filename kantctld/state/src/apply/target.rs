//! Which jobs a command means, and who may change them. Never changes one.

use crate::command::{Actor, Target};
use crate::remembered::State;
use common::id::JobKey;
use common::reason::Refusal;

/// What a command did to one job or array task.
pub(super) enum Did {
    /// It changed, or was as asked already.
    Fine,
    /// It could not be.
    Not(Refusal),
}

/// The jobs or tasks meant: one, or all tasks of an array.
///
/// # Errors
/// There is no such job, or the actor may not change it.
pub(super) fn keys(state: &State, actor: &Actor, target: Target) -> Result<Vec<JobKey>, Refusal> {
    let key = target.key;
    let unknown = || Refusal::UnknownJob { key };
    let record = state.job(key.job).ok_or_else(unknown)?;
    let owner = &record.spec.owner;
    if !actor.operator && actor.uid != owner.uid {
        return Err(Refusal::NotYours { job: key.job, owner: owner.name.clone() });
    }
    if record.elements.contains_key(&key.index) {
        return Ok(vec![key]);
    }
    match key.index {
        None => Ok(record.elements.keys().map(|index| record.key(*index)).collect()),
        Some(_) => Err(unknown()),
    }
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
