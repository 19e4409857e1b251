//! `RequeueJob`: a finished job waits again at once; a living one is stopped first. Its owner or an
//! operator may. What is over is accepted anew, by the rules there are now.
//! Never gives a job a second attempt while a node still has the first.

use super::admission::{self, Applicant};
use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
use crate::footprint;
use crate::life::{self, Ending};
use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<(), Refusal> {
    let Some(keys) = revive_set(state, events, actor, keys)? else { return Ok(()) };
    target::each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Done) => {
                if let Err(refusal) = check_again(state, actor, key) {
                    return Did::Not(refusal);
                }
                life::revive(state, events, key);
            }
            Some(Phase::Starting | Phase::Running | Phase::Suspended) => {
                life::ended(state, events, key, Ending::asked(actor.uid, true));
            }
            Some(Phase::Completing) => {
                life::change_end(state, events, key, actor.uid, true);
            }
            Some(Phase::Pending) | None => return target::wrong_phase(state, key, "requeue"),
        }
        Did::Fine
    })
}

/// A set that is over waits again whole or not at all: nothing is left to do. Else the jobs are
/// given back.
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
    if !target::all_are(state, &keys, Phase::Done) {
        return Ok(Some(keys));
    }
    let more = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    state.living.check_room(record.spec.owner.uid, more)?;
    keys.iter().try_for_each(|key| check_again(state, actor, *key))?;
    keys.into_iter().for_each(|key| life::revive(state, events, key));
    Ok(None)
}

/// May a job that is over live again, by the rules of today? It may have outlived its queue, a
/// longer time limit, or the operator's trust in jobs of root.
fn check_again(state: &State, actor: &Actor, key: JobKey) -> Result<(), Refusal> {
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let (ask, owner) = (&record.spec.ask, &record.spec.owner);
    admission::check_owner(state, owner.uid)?;
    let queue = admission::find_queue(state, ask)?;
    if let (Some(limit), None) = (queue.time_limit_max, ask.time_limit) {
        let message = format!(
            "job {key} has no time limit, and queue {} now allows at most {limit}: \
             submit it again with --time",
            queue.name
        );
        return Err(Refusal::BadAsk { message });
    }
    let who = Applicant { owner, groups: &record.groups, operator: actor.operator };
    admission::check(state, &who, ask)?;
    footprint::check_revival(state, record)?;
    state.living.check_room(owner.uid, 1)
}
