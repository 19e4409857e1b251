//! Raises the rules level. A level that is in force already changes nothing: an earlier leader may
//! have proposed the same.

use crate::event::Event;
use crate::state::State;
use common::reason::Refusal;
use common::rules_level::RulesLevel;

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    to: RulesLevel,
) -> Result<(), Refusal> {
    if to > state.rules_level {
        state.rules_level = to;
        events.push(Event::RulesRaised { to });
    }
    Ok(())
}
