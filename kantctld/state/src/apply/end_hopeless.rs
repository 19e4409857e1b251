//! `EndHopeless`: ends waiting tasks whose dependency can no longer be satisfied and that asked to
//! be ended in that case, if an earlier command left any. It ends at most
//! [`dependents::ENDED_AT_ONCE`] of them. A task that can start after all is not ended.

use crate::dependents;
use crate::event::Event;
use crate::state::State;
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(state: &mut State, events: &mut Vec<Event>) -> Result<(), Refusal> {
    dependents::end_some(state, events);
    Ok(())
}
