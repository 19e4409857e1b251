//! `ReleaseJob`: releases a held job. For its owner, unless a coordinator or an operator holds it,
//! for coordinators, unless an operator holds it, and for operators. The job starts in a later
//! round.

use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
use crate::held_by::HeldBy;
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
        let Some((record, element)) = state.element(key).filter(|(_, e)| e.phase == Phase::Pending)
        else {
            return target::wrong_phase_refusal(state, key, "release");
        };
        if !element.held {
            return Did::Not(Refusal::NotHeld { key });
        }
        if element.held_by.includes_operator() && !actor.operator {
            return Did::Not(Refusal::HeldByOperator { key });
        }
        let coordinates = || state.coordinates(&actor.roles, &record.spec.ask);
        if element.held_by.includes_coordinator() && !actor.operator && !coordinates() {
            return Did::Not(Refusal::HeldByCoordinator { key });
        }
        let now = state.now;
        if let Some(element) = state.element_mut(key) {
            element.released_at = Some(now);
            (element.held, element.held_by) = (false, HeldBy::User);
            // A release ends the delay after faults: the user wants the job to be tried again soon.
            element.faults = None;
        }
        state.record_event(events, Event::JobReleased { key, by: actor.uid });
        Did::Fine
    })
}
