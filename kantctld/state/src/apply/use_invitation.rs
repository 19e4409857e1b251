//! `UseInvitation`: lets a controller join by an invitation. An invitation works only once, even
//! for the same controller.

use crate::event::Event;
use crate::invitation::Admits;
use crate::state::State;
use common::reason::{InvitationRefusal, Refusal};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    hash: &str,
    address: &str,
) -> Result<(), Refusal> {
    let now = state.now;
    let invitation = state
        .invitations
        .get_mut(hash)
        .filter(|one| one.until > now && one.admits == Admits::Controller);
    let invitation = invitation.ok_or(InvitationRefusal::Unknown)?;
    if let Some(address) = &invitation.used_by {
        return Err(InvitationRefusal::Used { address: address.clone() }.into());
    }
    invitation.used_by = Some(address.to_owned());
    events.push(Event::InvitationUsed { by: invitation.by, address: address.to_owned() });
    Ok(())
}
