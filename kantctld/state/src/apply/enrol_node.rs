//! `EnrolNode`: gives a node the right to a certificate, by an invitation. A node that was enrolled
//! before gets the next number, which makes its earlier certificates invalid.

use crate::enrolment::Enrolment;
use crate::event::Event;
use crate::invitation::Admits;
use crate::state::State;
use common::id::NodeName;
use common::reason::{InvitationRefusal, Refusal};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    hash: &str,
    (name, key): (&NodeName, &str),
) -> Result<(), Refusal> {
    let now = state.now;
    let known = state.enrolments.get(name);
    let invitation = state.invitations.get_mut(hash).filter(|invitation| invitation.until > now);
    let invitation = invitation.ok_or(InvitationRefusal::Unknown)?;
    let by = invitation.by;
    // The answer to the same request was lost.
    let is_same = |one: &&Enrolment| one.key == key && one.invitation == hash;
    if let Some(known) = known.filter(|one| is_same(one) && one.revoked.is_none()) {
        events.push(Event::NodeEnrolled { name: name.clone(), number: known.number, by });
        return Ok(());
    }
    match &mut invitation.admits {
        Admits::Controller => return Err(InvitationRefusal::Unknown.into()),
        Admits::Nodes(names) => {
            if !names.remove(name) {
                return Err(InvitationRefusal::NotForNode { name: name.clone() }.into());
            }
        }
        Admits::AnyNode => {
            if let Some(name) = &invitation.used_by {
                return Err(InvitationRefusal::UsedByNode { name: name.clone() }.into());
            }
            if known.is_some() || state.nodes.contains_key(name) {
                return Err(InvitationRefusal::NameTaken { name: name.clone() }.into());
            }
            invitation.used_by = Some(name.to_string());
        }
    }
    let number = state.next_enrolment(name);
    let (key, invitation) = (key.to_owned(), hash.to_owned());
    let enrolment = Enrolment { number, key, invitation, by, at: now, revoked: None };
    state.enrolments.insert(name.clone(), enrolment);
    events.push(Event::NodeEnrolled { name: name.clone(), number, by });
    Ok(())
}
