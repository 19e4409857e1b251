//! `ResumeJob`: lets a suspended job continue where it stopped. For operators only (man scontrol,
//! resume). A job that already runs is left as it is.

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
    if !target::all_are(state, &keys, Phase::Suspended)
        && !target::all_are(state, &keys, Phase::Running)
    {
        return target::each(keys, |key| target::wrong_phase(state, key, "resume"));
    }
    target::each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Suspended) => lifecycle::resume(state, events, key, actor.uid),
            Some(Phase::Running) => {}
            _ => return target::wrong_phase(state, key, "resume"),
        }
        Did::Fine
    })
}
