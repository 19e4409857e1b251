//! `CheckpointJob`: all that a job did so far is saved, its owner or an operator says, so stopping
//! it loses only what it does from now on. One that starts may say so as well: its script may run
//! before its nodes have told. Never looks whether it is true, nor changes what the job holds.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::life;
use crate::remembered::State;
use common::job::Phase;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
) -> Result<(), Refusal> {
    let keys = target::whole(state, actor, target)?;
    target::each(keys, |key| match state.element(key).map(|(_, element)| element.phase) {
        Some(Phase::Starting | Phase::Running | Phase::Suspended) => {
            life::checkpoint(state, events, key, actor.uid);
            Did::Fine
        }
        Some(phase @ (Phase::Pending | Phase::Completing)) => {
            Did::Not(Refusal::NothingToSave { key, phase })
        }
        Some(Phase::Done) | None => target::wrong_phase(state, key, "checkpoint"),
    })
}
