//! `LeaseOver`: ends a job with a lease whose client has gone away. A waiting job ends at once; a
//! job that has nodes is stopped. The leader has measured the silence of the client. A job without
//! a lease, or one that is already ending, is left alone.

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
    let Some(lease) = record.spec.ask.lease else { return Ok(()) };
    match element.phase {
        Phase::Pending => lifecycle::drop_waiting(state, events, key, Outcome::Cancelled, None),
        Phase::Starting | Phase::Running | Phase::Suspended => {
            let message = Note::LeaseOver { lease }.to_string();
            let ending = Ending { message: Some(message), ..Ending::new(Outcome::Cancelled) };
            lifecycle::end_attempt(state, events, key, ending);
        }
        Phase::Completing | Phase::Done => {}
    }
    Ok(())
}
