//! `LeaseOver`: nobody waits any more for a job that was to live only as long as somebody does. One
//! that waits is over, one that was given nodes is stopped. The silence was the leader's to
//! measure. Never touches a job without a lease, or one whose end is decided.

use crate::event::Event;
use crate::life::{self, Ending};
use crate::remembered::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // one shape for all commands
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
) -> Result<(), Refusal> {
    let Some((record, element)) = state.element(key) else { return Ok(()) };
    let Some(lease) = record.spec.ask.lease else { return Ok(()) };
    match element.phase {
        Phase::Pending => life::drop_waiting(state, events, key, Outcome::Cancelled, None),
        Phase::Starting | Phase::Running | Phase::Suspended => {
            let message = format!("whoever waited for it was not heard of for {lease}");
            let ending = Ending { message: Some(message), ..Ending::new(Outcome::Cancelled) };
            life::ended(state, events, key, ending);
        }
        Phase::Completing | Phase::Done => {}
    }
    Ok(())
}
