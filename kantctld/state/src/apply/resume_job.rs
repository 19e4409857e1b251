//! `ResumeJob`: a suspended job goes on where it stood. Operators may (man scontrol, resume).
//! Never touches a job that was not suspended: one that runs is as asked.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::life;
use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    let keys = target::keys(state, actor, target)?;
    each(state, events, actor, keys)
}

/// The same for these.
pub(super) fn each(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if !target::all_are(state, &keys, Phase::Suspended)
        && !target::all_are(state, &keys, Phase::Running)
    {
        return target::each(keys, |key| target::wrong_phase(state, key, "resume"));
    }
    target::each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Suspended) => life::resume(state, events, key, actor.uid),
            Some(Phase::Running) => {}
            _ => return target::wrong_phase(state, key, "resume"),
        }
        Did::Fine
    })
}
