//! `NodeSilent`: records that a node's session ended. Its jobs keep their allocations, and no new
//! jobs start there. Only `NodeLost` gives them up.

use crate::event::Event;
use crate::state::State;
use common::id::NodeName;
use common::node::Contact;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &NodeName,
) -> Result<(), Refusal> {
    let now = state.now;
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    if node.contact == Contact::Connected {
        node.contact = Contact::Silent { since: now };
        events.push(Event::NodeSilent { name: name.clone() });
    }
    Ok(())
}
