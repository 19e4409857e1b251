//! `FinishJob`: whoever held a job's nodes for programs says that they are over, and how. Its owner
//! or an operator may. Never ends a job that has a script: that one says itself how it ends.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::life::{self, Ending};
use crate::remembered::State;
use common::job::{ExitStatus, Launch, Outcome, Phase};
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
    exit: ExitStatus,
) -> Result<(), Refusal> {
    let keys = target::keys(state, actor, target)?;
    target::each(keys, |key| {
        // The script of a set says itself how it ends.
        let held = state.element(key).filter(|(record, _)| record.set.is_none());
        let found = held.map(|(record, e)| (record.spec.ask.launch, e.phase));
        match found {
            Some((Launch::Held, Phase::Pending)) => {
                life::drop_waiting(state, events, key, Outcome::Cancelled, Some(actor.uid));
            }
            Some((Launch::Held, Phase::Starting | Phase::Running | Phase::Suspended)) => {
                let succeeded = exit.is_success();
                let outcome = if succeeded { Outcome::Completed } else { Outcome::Failed };
                let ending = Ending { exit: Some(exit), ..Ending::new(outcome) };
                life::ended(state, events, key, ending);
            }
            // Said twice, or its end was decided by other means.
            Some((Launch::Held, Phase::Completing)) => {}
            _ => return target::wrong_phase(state, key, "finish"),
        }
        Did::Fine
    })
}
