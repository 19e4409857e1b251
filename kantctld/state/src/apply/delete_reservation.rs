//! `DeleteReservation`: deletes a reservation, so that all jobs may use its nodes again. For
//! operators only. No job is changed: jobs that run in the reservation continue, and jobs that wait
//! for it go on waiting, which their users can see.

use super::target;
use crate::command::Actor;
use crate::event::Event;
use crate::state::State;
use common::id::ReservationName;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    name: &ReservationName,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if state.reservations.remove(name).is_none() {
        return Err(Refusal::UnknownReservation { name: name.clone() });
    }
    events.push(Event::ReservationDeleted { name: name.clone(), by: actor.uid });
    Ok(())
}

/// Removes the reservations that have expired.
pub(super) fn drop_expired(state: &mut State, events: &mut Vec<Event>) {
    let now = state.now;
    let over = state.reservations().filter(|reservation| reservation.to <= now);
    let over: Vec<ReservationName> = over.map(|reservation| reservation.name.clone()).collect();
    for name in over {
        state.reservations.remove(&name);
        events.push(Event::ReservationExpired { name });
    }
}
