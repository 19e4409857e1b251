//! `ReleaseJob`: lets a held job go. Its owner may unless an operator holds it, and an operator.
//! Never starts it; a round does.

use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<(), Refusal> {
    target::each(keys, |key| {
        let Some((_, element)) = state.element(key).filter(|(_, e)| e.phase == Phase::Pending)
        else {
            return target::wrong_phase(state, key, "release");
        };
        if !element.held {
            return Did::Not(Refusal::NotHeld { key });
        }
        if element.held_by_operator && !actor.operator {
            return Did::Not(Refusal::HeldByOperator { key });
        }
        let now = state.now;
        if let Some(element) = state.element_mut(key) {
            element.released_at = Some(now);
            (element.held, element.held_by_operator) = (false, false);
            // Whoever lets it go wants it tried again, and soon.
            element.faults = None;
        }
        state.tell(events, Event::JobReleased { key, by: actor.uid });
        Did::Fine
    })
}
