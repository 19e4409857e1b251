//! `NodeLost`: gives up a node that was silent for too long. Its shares end as Lost, and their jobs
//! end or return to their queues. A node that has come back meanwhile is not lost. The node may
//! still run what is given up here: see docs/decisions/0001-job-states-and-events.md on fencing.

use super::register_node::lose_all;
use crate::event::Event;
use crate::state::State;
use common::id::NodeName;
use common::node::Contact;
use common::reason::{Note, Refusal};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &NodeName,
) -> Result<(), Refusal> {
    let now = state.now;
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    if let Contact::Silent { .. } = node.contact {
        node.contact = Contact::Lost { since: now };
        events.push(Event::NodeLost { name: name.clone() });
        lose_all(state, events, name, &Note::NodeLost { node: name });
    }
    Ok(())
}
