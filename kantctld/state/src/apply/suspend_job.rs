//! `SuspendJob`: freezes the processes of a running job and stops its time limit. It keeps its
//! allocation. For operators only (man scontrol, suspend). The command does not wait for the nodes,
//! and a deadline is not postponed.

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
    target::switch_phase(state, keys, "suspend", Phase::Running, Phase::Suspended, |state, key| {
        lifecycle::suspend(state, events, key, actor.uid);
    })
}
