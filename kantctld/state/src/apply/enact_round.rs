//! `EnactRound`: starts what a round decided, each entry by itself and whole or not at all. An
//! entry that something overtook is refused; the others go on. Never looks for another place.

use crate::command::RoundStart;
use crate::event::Event;
use crate::life;
use crate::remembered::State;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    starts: &[RoundStart],
) -> Result<(), Refusal> {
    for start in starts {
        if let Err(reason) = life::start(state, events, start) {
            // Into the answer only: a story would fill up with what was mended a moment later.
            events.push(Event::RoundEntryRefused { id: start.id, reason });
        }
    }
    Ok(())
}
