//! `Invite`: lets one more controller, or nodes, join within a limited time. For operators only.
//! The state holds a hash of the secret and never the secret itself.

use super::target;
use crate::command::Actor;
use crate::event::Event;
use crate::invitation::{Admits, Invitation, LASTS_MAX, NODES_MAX, OPEN_MAX};
use crate::state::State;
use common::reason::{BadRequest, InvitationRefusal, Refusal};
use common::time::Span;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    (hash, lasts, admits): (&str, Span, &Admits),
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if lasts == Span(0) || lasts > LASTS_MAX {
        return Err(BadRequest::InvitationExpires { most: LASTS_MAX }.into());
    }
    if let Admits::Nodes(names) = admits
        && (names.is_empty() || names.len() > NODES_MAX)
    {
        return Err(BadRequest::InvitedNodes { most: NODES_MAX }.into());
    }
    let is_open = |one: &&Invitation| one.until > state.now && one.is_unused();
    if state.invitations.values().filter(is_open).count() >= OPEN_MAX {
        return Err(InvitationRefusal::TooMany { limit: OPEN_MAX }.into());
    }
    drop_expired(state);
    let (by, until) = (actor.uid, state.now + lasts);
    let invitation = Invitation { by, until, admits: admits.clone(), used_by: None };
    state.invitations.insert(hash.to_owned(), invitation);
    events.push(Event::Invited { by, until });
    Ok(())
}

/// Removes expired invitations.
pub(super) fn drop_expired(state: &mut State) {
    let now = state.now;
    state.invitations.retain(|_, invitation| invitation.until > now);
}
