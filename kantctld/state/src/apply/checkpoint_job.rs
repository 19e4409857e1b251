//! `CheckpointJob`: a statement by the owner of a job or an operator that all work of the job so
//! far is saved, so that stopping it loses only later work. A starting job is accepted too: its
//! script may run before its nodes have reported that. The statement is not verified, and the job's
//! allocation does not change.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::lifecycle;
use crate::state::State;
use common::job::Phase;
use common::reason::Refusal;
use common::right::JobAction;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
) -> Result<(), Refusal> {
    let keys = target::keys_of_whole_set(state, actor, JobAction::Checkpoint.right(), target)?;
    target::apply_to_each(keys, |key| match state.element(key).map(|(_, element)| element.phase) {
        Some(Phase::Starting | Phase::Running | Phase::Suspended) => {
            lifecycle::checkpoint(state, events, key, actor.uid);
            Did::Fine
        }
        Some(phase @ (Phase::Pending | Phase::Completing)) => {
            Did::Not(Refusal::NothingToSave { key, phase })
        }
        Some(Phase::Done) | None => target::wrong_phase_refusal(state, key, "checkpoint"),
    })
}
