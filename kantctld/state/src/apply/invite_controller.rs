//! `InviteController`: lets one more controller join, once and within a limited time. For operators
//! only. The state holds a hash of the secret and never the secret itself.

use super::target;
use crate::command::Actor;
use crate::event::Event;
use crate::invitation::{Invitation, LASTS_MAX, OPEN_MAX};
use crate::state::State;
use common::reason::{BadRequest, InvitationRefusal, Refusal};
use common::time::Span;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    (hash, lasts): (&str, Span),
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if lasts == Span(0) || lasts > LASTS_MAX {
        return Err(BadRequest::InvitationExpires { most: LASTS_MAX }.into());
    }
    let open = state.invitations.values().filter(|invitation| invitation.until > state.now);
    if open.count() >= OPEN_MAX {
        return Err(InvitationRefusal::TooMany { limit: OPEN_MAX }.into());
    }
    drop_expired(state);
    let (by, until) = (actor.uid, state.now + lasts);
    state.invitations.insert(hash.to_owned(), Invitation { by, until, used_by: None });
    events.push(Event::ControllerInvited { by, until });
    Ok(())
}

/// Removes expired invitations.
pub(super) fn drop_expired(state: &mut State) {
    let now = state.now;
    state.invitations.retain(|_, invitation| invitation.until > now);
}
