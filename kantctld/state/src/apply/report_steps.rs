//! `ReportSteps`: processes a node's report on its steps. Reports may be repeated, late or out of
//! order: a share only moves forward. A node can report only on its own shares.

use crate::event::Event;
use crate::lifecycle;
use crate::state::State;
use common::id::NodeName;
use common::reason::Refusal;
use common::wire::node::StepStatus;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    steps: &[StepStatus],
) -> Result<(), Refusal> {
    // Each report looks this node up again, for a change.
    if state.nodes.get_mut(node).is_none() {
        return Err(Refusal::UnknownNode { name: node.clone() });
    }
    for status in steps {
        lifecycle::process_report(state, events, node, status);
    }
    Ok(())
}
