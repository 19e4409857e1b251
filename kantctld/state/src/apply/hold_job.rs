//! `HoldJob`: keeps a waiting job from starting until it is released. For its owner, a coordinator
//! or an operator. If an operator holds another user's job, only an operator can release it, even
//! if its owner held it first (Slurm: JobHeldAdmin and JobHeldUser); likewise a coordinator, whose
//! hold operators can release, too. A job that has started cannot be held.

use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
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
    target::apply_to_each(keys, |key| {
        let Some((_, element)) = state.element(key).filter(|(_, e)| e.phase == Phase::Pending)
        else {
            return target::wrong_phase_refusal(state, key, "hold");
        };
        let by_other = !target::is_owner(state, actor, key);
        let (by_operator, by_coordinator) =
            (by_other && actor.operator, by_other && !actor.operator);
        let held_by = element.held_by.and(by_operator, by_coordinator);
        if !element.held || held_by != element.held_by {
            if let Some(element) = state.element_mut(key) {
                (element.held, element.held_by) = (true, held_by);
            }
            state.record_event(events, Event::JobHeld { key, by: actor.uid });
        }
        Did::Fine
    })
}
