//! `RequeueJob`: a finished job waits again at once; a living one is stopped first. Its owner or an
//! operator may. Never gives a job a second attempt while a node still has the first.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::life::{self, Ending};
use crate::remembered::State;
use common::job::Phase;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
) -> Result<(), Refusal> {
    let keys = target::keys(state, actor, target)?;
    check_queue(state, target)?;
    target::each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Done) => life::revive(state, events, key),
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

/// A job that is over may have outlived its queue.
fn check_queue(state: &State, target: Target) -> Result<(), Refusal> {
    let queue = state.job(target.key.job).and_then(|record| record.spec.ask.queue.clone());
    match queue.filter(|name| state.queue(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = state.queues().iter().map(|q| q.name.as_str()).collect();
            Err(Refusal::UnknownQueue { name, known: known.join(", ") })
        }
    }
}
