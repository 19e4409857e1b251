//! `FinishJob`: a statement by the owner of a job or an operator that the programs for which the
//! job's nodes were held have ended, and how. A job with a script is not ended: the script itself
//! decides how the job ends.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::lifecycle::{self, Ending};
use crate::state::State;
use common::job::{ExitStatus, Launch, Outcome, Phase};
use common::reason::Refusal;
use common::right::JobAction;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
    exit: ExitStatus,
) -> Result<(), Refusal> {
    let keys = target::addressed_keys(state, actor, JobAction::Finish.right(), target)?;
    target::apply_to_each(keys, |key| {
        // A set ends with its script.
        let held = state.element(key).filter(|(record, _)| record.set.is_none());
        let found = held.map(|(record, e)| (record.spec.ask.launch, e.phase));
        match found {
            Some((Launch::Held, Phase::Pending)) => {
                lifecycle::drop_waiting(state, events, key, Outcome::Cancelled, Some(actor.uid));
            }
            Some((Launch::Held, Phase::Starting | Phase::Running | Phase::Suspended)) => {
                let succeeded = exit.is_success();
                let outcome = if succeeded { Outcome::Completed } else { Outcome::Failed };
                let ending = Ending { exit: Some(exit), ..Ending::new(outcome) };
                lifecycle::end_attempt(state, events, key, ending);
            }
            // A repeated command, or a job that is already ending for another reason.
            Some((Launch::Held, Phase::Completing)) => {}
            _ => return target::wrong_phase_refusal(state, key, "finish"),
        }
        Did::Fine
    })
}
