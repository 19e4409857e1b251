//! `SuspendJob`: freezes the processes of a running job and stops its time limit. It keeps its
//! allocation. For operators only (man scontrol, suspend). The command does not wait for the nodes,
//! and a deadline is not postponed.

use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
use crate::lifecycle;
use crate::state::State;
use common::id::JobKey;
use common::job::Phase;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<(), Refusal> {
    if !target::all_are(state, &keys, Phase::Running)
        && !target::all_are(state, &keys, Phase::Suspended)
    {
        return target::each(keys, |key| target::wrong_phase(state, key, "suspend"));
    }
    target::each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Running) => lifecycle::suspend(state, events, key, actor.uid),
            Some(Phase::Suspended) => {}
            _ => return target::wrong_phase(state, key, "suspend"),
        }
        Did::Fine
    })
}
