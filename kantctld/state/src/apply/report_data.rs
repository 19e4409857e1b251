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
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    if *node.data != *data {
        node.data = data.into();
        events.push(Event::NodeDataChanged { name: name.clone() });
    }
    Ok(())
}
