//! `UpdateReservation`: replaces the reservation of the same name in one step, so that no job takes
//! the nodes in between. For operators only. Jobs that run there continue. If the command is
//! refused, the old reservation stays.

use super::{create_reservation, target};
use crate::command::Actor;
use crate::event::Event;
use crate::state::State;
use common::reason::Refusal;
use common::reservation::Reservation;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    asked: &Reservation,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    let name = asked.name.clone();
    let Some(old) = state.reservations.remove(&name) else {
        return Err(Refusal::UnknownReservation { name });
    };
    // A reservation may keep its begin in the past, but a new begin is at least the current time.
    let from = if asked.from == old.from { old.from } else { asked.from.max(state.now) };
    let new = Reservation { from, by: old.by, ..asked.clone() };
    if let Err(refusal) = create_reservation::check(state, &new) {
        state.reservations.insert(name, old);
        return Err(refusal);
    }
    state.reservations.insert(name.clone(), new);
    events.push(Event::ReservationChanged { name, by: actor.uid });
    Ok(())
}
