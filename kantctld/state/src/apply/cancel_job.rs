//! `CancelJob`, for the owner of a job or an operator. A waiting job ends at once; a running job is
//! stopped; a job that is being stopped for a requeue is no longer requeued. The command does not
//! wait for the nodes.

use super::target::{self, Did};
use crate::command::Actor;
use crate::event::Event;
use crate::lifecycle::{self, Ending};
use crate::state::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
) -> Result<(), Refusal> {
    target::apply_to_each(keys, |key| {
        match state.element(key).map(|(_, element)| element.phase) {
            Some(Phase::Pending) => {
                lifecycle::drop_waiting(state, events, key, Outcome::Cancelled, Some(actor.uid));
            }
            Some(Phase::Starting | Phase::Running | Phase::Suspended) => {
                lifecycle::end_attempt(state, events, key, Ending::by_user(actor.uid, false));
            }
            Some(Phase::Completing)
                if lifecycle::change_end(state, events, key, actor.uid, false) => {}
            Some(Phase::Completing) => return Did::Not(Refusal::AlreadyEnding { key }),
            Some(Phase::Done) | None => return target::wrong_phase_refusal(state, key, "cancel"),
        }
        Did::Fine
    })
}
