//! `EndHopeless`: ends tasks that cannot start any more because of what they wait for, and asked for
//! that, where an earlier command left some; at most [`dependency::ENDED_AT_ONCE`]. Never ends one
//! that can start again by now.

use crate::dependency;
use crate::event::Event;
use crate::remembered::State;
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // one shape for all commands
pub(super) fn apply(state: &mut State, events: &mut Vec<Event>) -> Result<(), Refusal> {
    dependency::end_some(state, events);
    Ok(())
}
