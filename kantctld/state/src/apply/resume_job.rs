//! `ResumeJob`: lets a suspended job continue where it stopped. For operators only (man scontrol,
//! resume). A job that already runs is left as it is.

use super::target;
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
    target::switch_phase(state, keys, "resume", Phase::Suspended, Phase::Running, |state, key| {
        lifecycle::resume(state, events, key, actor.uid);
    })
}
