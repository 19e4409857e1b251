//! `ResumeNode`: lets jobs start on a drained node again. For operators only.

use super::target;
use crate::command::Actor;
use crate::event::Event;
use crate::fault::NodeFaults;
use crate::state::State;
use common::id::NodeName;
use common::node::Resumed;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    name: &NodeName,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    let now = state.now;
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    node.start_faults = NodeFaults::default();
    node.health_drains.clear();
    if node.drain.take().is_some() {
        node.resumed = Some(Resumed { by: actor.uid, at: now });
        events.push(Event::NodeResumed { name: name.clone(), by: actor.uid });
    }
    Ok(())
}
