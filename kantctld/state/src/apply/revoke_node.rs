//! `RevokeNode`: makes the certificates of a node invalid. The node's jobs are left to the rules
//! for a silent node: root on a lost machine may still run them.

use super::target;
use crate::command::Actor;
use crate::enrolment::{Enrolment, Revoked};
use crate::event::Event;
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
    let is_known = state.nodes.contains_key(name);
    match state.enrolments.get_mut(name) {
        Some(enrolment) => {
            enrolment.revoked.get_or_insert(revoked);
        }
        // Its certificate is older than the state, which was restored from a backup.
        None if is_known => {
            let revoked = Some(revoked);
            let unknown =
                Enrolment { number: 1, key: String::new(), by: actor.uid, at: state.now, revoked };
            state.enrolments.insert(name.clone(), unknown);
        }
        None => return Err(Refusal::UnknownNode { name: name.clone() }),
    }
    events.push(Event::NodeRevoked { name: name.clone(), by: actor.uid });
    Ok(())
}
