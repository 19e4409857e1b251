//! `WithdrawInvitation`: ends an invitation before its time. For operators only. Hosts that have
//! joined by it stay.

use super::target;
use crate::command::Actor;
use crate::event::Event;
use crate::invitation::ID_CHARS;
use crate::state::State;
use common::reason::{InvitationRefusal, Refusal};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    id: &str,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    let named = |hash: &&String| hash.get(..ID_CHARS) == Some(id);
    let hash = state.invitations.keys().find(named).cloned();
    let hash = hash.ok_or_else(|| InvitationRefusal::NoSuchId { id: id.to_owned() })?;
    state.invitations.remove(&hash);
    events.push(Event::InvitationWithdrawn { id: id.to_owned(), by: actor.uid });
    Ok(())
}
