//! `HoldJob`: keeps a waiting job from starting until it is released. Its owner or an operator may.
//! Never stops anything that has started.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
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
    target::each(keys, |key| {
        let Some((_, element)) = state.element(key).filter(|(_, e)| e.phase == Phase::Pending)
        else {
            return target::wrong_phase(state, key, "hold");
        };
        if !element.held {
            if let Some(element) = state.element_mut(key) {
                element.held = true;
            }
            state.tell(events, Event::JobHeld { key, by: actor.uid });
        }
        Did::Fine
    })
}
