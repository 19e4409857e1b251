//! `CreateReservation`: reserves nodes for a time. For operators only. Two reservations never hold
//! the same node at the same time. Jobs that run on the nodes continue; an operator who wants them
//! gone cancels them. The leader chooses nodes and times before it proposes the command.

use super::{admission, target};
use crate::command::Actor;
use crate::event::Event;
use crate::state::State;
use common::reason::{BadRequest, Refusal};
use common::reservation::Reservation;

/// The maximum length of a comment, in bytes.
const COMMENT_BYTES_MAX: usize = 1024;

/// The maximum number of reservations. Each of them takes part in every round.
const RESERVATIONS_MAX: usize = 10_000;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    asked: &Reservation,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if state.reservations.contains_key(&asked.name) {
        return Err(Refusal::ReservationExists { name: asked.name.clone() });
    }
    let from = asked.from.max(state.now);
    check(state, &Reservation { from, ..asked.clone() })?;
    let name = asked.name.clone();
    let reservation = Reservation { from, by: actor.uid, ..asked.clone() };
    state.reservations.insert(name.clone(), reservation);
    events.push(Event::ReservationCreated { name });
    Ok(())
}

/// Checks whether this reservation may exist together with the others.
pub(super) fn check(state: &State, asked: &Reservation) -> Result<(), Refusal> {
    check_sense(state, asked)?;
    if let Some(unknown) = asked.nodes.iter().find(|name| state.node(name).is_none()) {
        return Err(Refusal::UnknownNode { name: unknown.clone() });
    }
    for account in &asked.access.accounts {
        admission::find_account(state, account)?;
    }
    check_overlap(state, asked)
}

/// Checks the reservation by itself.
fn check_sense(state: &State, asked: &Reservation) -> Result<(), Refusal> {
    let name = || asked.name.clone();
    if asked.nodes.is_empty() {
        return Err(BadRequest::ReservesNothing { name: name() }.into());
    }
    if asked.to <= asked.from || asked.to <= state.now {
        return Err(BadRequest::ReservationOver { name: name(), to: asked.to }.into());
    }
    if asked.comment.len() > COMMENT_BYTES_MAX || asked.comment.chars().any(char::is_control) {
        let most = COMMENT_BYTES_MAX;
        return Err(BadRequest::ReservationComment { name: name(), most }.into());
    }
    if state.reservations.len() >= RESERVATIONS_MAX {
        return Err(BadRequest::TooManyReservations { most: RESERVATIONS_MAX }.into());
    }
    Ok(())
}

fn check_overlap(state: &State, asked: &Reservation) -> Result<(), Refusal> {
    for other in state.reservations().filter(|o| o.from < asked.to && asked.from < o.to) {
        if let Some(node) = other.nodes.intersection(&asked.nodes).next() {
            let (node, other, from, to) = (node.clone(), other.name.clone(), other.from, other.to);
            return Err(Refusal::ReservationOverlaps { node, other, from, to });
        }
    }
    Ok(())
}
