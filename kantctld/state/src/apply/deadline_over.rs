//! `DeadlineOver`: ends a job whose deadline has passed. A waiting job ends without having run; a
//! job that has nodes is stopped. The deadline is compared with the state's time, so that a command
//! that comes too early changes nothing. A job that is already ending is left alone.

use crate::event::Event;
use crate::lifecycle::{self, Ending};
use crate::state::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::{Note, Refusal};

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
) -> Result<(), Refusal> {
    let Some((record, element)) = state.element(key) else { return Ok(()) };
    let Some(deadline) = record.spec.ask.deadline.filter(|deadline| *deadline <= state.now) else {
        return Ok(());
    };
    let message = Some(Note::DeadlineOver { deadline }.to_string());
    let outcome = match element.phase {
        Phase::Pending => {
            lifecycle::drop_waiting(state, events, key, Outcome::DeadlineMissed, None);
            return Ok(());
        }
        Phase::Starting => Outcome::DeadlineMissed,
        Phase::Running | Phase::Suspended => Outcome::TimedOut,
        Phase::Completing | Phase::Done => return Ok(()),
    };
    lifecycle::end_attempt(state, events, key, Ending { message, ..Ending::new(outcome) });
    Ok(())
}
