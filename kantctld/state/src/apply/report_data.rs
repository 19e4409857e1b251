//! `ReportData`: records the names of the data that a node has.

use crate::event::Event;
use crate::state::State;
use common::id::{DataName, NodeName};
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &NodeName,
    data: &[DataName],
) -> Result<(), Refusal> {
    // Many nodes have the same, and share one list.
    let shared = state.nodes.before(name).filter(|before| *before.data == *data);
    let shared = shared.map(|before| before.data.clone());
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    if *node.data != *data {
        node.data = shared.unwrap_or_else(|| data.into());
        events.push(Event::NodeDataChanged { name: name.clone() });
    }
    Ok(())
}
