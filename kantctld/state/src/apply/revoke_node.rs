//! `RevokeNode`: makes the certificates of a node invalid. The node's jobs are left to the rules
//! for a silent node: root on a lost machine may still run them.

use super::target;
use crate::command::Actor;
use crate::enrolment::{Enrolment, Revoked};
use crate::event::Event;
use crate::invitation::Admits;
use crate::state::State;
use common::id::NodeName;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    name: &NodeName,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    let revoked = Revoked { by: actor.uid, at: state.now };
    let is_restored = state.enrolment_floor > 0;
    let is_known = state.enrolments.contains_key(name) || state.nodes.contains_key(name);
    if !is_known && !is_restored {
        return Err(Refusal::UnknownNode { name: name.clone() });
    }
    // It may have joined after the backup from which the state was restored.
    let unknown = Enrolment {
        number: state.next_enrolment(name),
        key: String::new(),
        invitation: String::new(),
        by: actor.uid,
        at: state.now,
        revoked: None,
    };
    let enrolment = state.enrolments.entry(name.clone()).or_insert(unknown);
    enrolment.revoked.get_or_insert(revoked);
    withdraw_node_access(state, name);
    events.push(Event::NodeRevoked { name: name.clone(), by: actor.uid });
    Ok(())
}

/// Removes what a node may have left elsewhere: its place in open invitations, and the tokens that
/// were made through it.
fn withdraw_node_access(state: &mut State, name: &NodeName) {
    for invitation in state.invitations.values_mut() {
        if let Admits::Nodes(names) = &mut invitation.admits {
            names.remove(name);
        }
    }
    state.tokens.retain(|_, token| token.via.as_ref() != Some(name));
}
