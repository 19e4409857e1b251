//! `RequeueJob`, for the owner of a job, coordinators, support and operators. A finished job waits
//! again at once, if the current rules still admit it. A running job is stopped first: it gets no
//! new attempt while a node still has the old one. Coordinators and support undo no cancel, and
//! repeat no job that ended by itself or that is not to be requeued.

use super::admission::{self, Applicant};
use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
use crate::lifecycle::{self, Ending};
use crate::state::State;
use crate::texts;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::{BadRequest, Refusal, ServiceRefusal};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<(), Refusal> {
    let Some(keys) = revive_set(state, events, actor, keys)? else { return Ok(()) };
    target::apply_to_each(keys, |key| {
        if let Err(refusal) = check_requeue_by_other(state, actor, key) {
            return Did::Not(refusal);
        }
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Done) => {
                if let Some(refusal) = replica_refusal(state, key) {
                    return Did::Not(refusal.into());
                }
                if let Err(refusal) = check_readmission(state, actor, key) {
                    return Did::Not(refusal);
                }
                lifecycle::revive(state, events, key);
            }
            Some(Phase::Starting | Phase::Running | Phase::Suspended) => {
                lifecycle::end_attempt(state, events, key, Ending::by_user(actor.uid, true));
            }
            Some(Phase::Completing) => {
                lifecycle::change_end(state, events, key, actor.uid, true);
            }
            Some(Phase::Pending) | None => {
                return target::wrong_phase_refusal(state, key, "requeue");
            }
        }
        Did::Fine
    })
}

/// Refuses users who are neither the owner nor an operator if the owner may not want the job again:
/// it ended by itself, its cancel is decided, or it was submitted with `--no-requeue`.
fn check_requeue_by_other(state: &State, actor: &Actor, key: JobKey) -> Result<(), Refusal> {
    if actor.operator || target::is_owner(state, actor, key) {
        return Ok(());
    }
    let Some((record, element)) = state.element(key) else { return Ok(()) };
    let decided = element.run.as_ref().and_then(|run| run.end.as_ref());
    let ended = match element.phase {
        Phase::Done => element.outcome,
        Phase::Completing => decided.filter(|end| !end.requeue).map(|end| end.outcome),
        _ => None,
    };
    let by_fault = ended.is_none_or(|outcome| {
        matches!(outcome, Outcome::NodeLost | Outcome::Preempted | Outcome::LaunchFailed)
    });
    match by_fault && record.spec.ask.requeue {
        true => Ok(()),
        false => Err(Refusal::OwnerRequeues { key }),
    }
}

/// Requeues a finished set, whole or not at all, and returns `None`. Other jobs are returned for
/// the caller to handle.
fn revive_set(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<Option<Vec<JobKey>>, Refusal> {
    let record = keys.first().and_then(|key| state.job(key.job));
    let Some(record) = record.filter(|record| record.set.is_some()) else {
        return Ok(Some(keys));
    };
    if !target::is_set_in_phase(state, &keys, Phase::Done) {
        return Ok(Some(keys));
    }
    let more = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    state.living.check_room(record.spec.owner.uid, more)?;
    keys.iter().try_for_each(|key| check_requeue_by_other(state, actor, *key))?;
    keys.iter().try_for_each(|key| check_readmission(state, actor, *key))?;
    keys.into_iter().for_each(|key| lifecycle::revive(state, events, key));
    Ok(None)
}

/// Checks whether the current rules admit a finished job again. Its queue may be gone, the time
/// limit may be shorter, or jobs of root may no longer be allowed.
fn check_readmission(state: &State, actor: &Actor, key: JobKey) -> Result<(), Refusal> {
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let (ask, owner) = (&record.spec.ask, &record.spec.owner);
    admission::check_owner(state, owner.uid)?;
    let queue = admission::find_queue(state, ask)?;
    if let (Some(limit), None) = (queue.time_limit_max, ask.time_limit) {
        let queue = queue.name.clone();
        return Err(BadRequest::NowLimited { key, queue, limit }.into());
    }
    let who = Applicant { owner, groups: &record.groups, operator: actor.operator };
    admission::check(state, &who, ask)?;
    texts::check_revival(state, record)?;
    state.living.check_room(owner.uid, 1)
}

/// A service replaces its replicas by itself.
fn replica_refusal(state: &State, key: JobKey) -> Option<ServiceRefusal> {
    let replica = state.job(key.job)?.spec.ask.replica.as_ref()?;
    Some(ServiceRefusal::IsReplica { key, name: replica.service.clone() })
}
