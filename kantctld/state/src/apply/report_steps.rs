//! `ReportSteps`: a node's word on its steps. May come twice, late, or in any order: a share only
//! ever moves forward. Never believes a node about another node's share.

use crate::event::Event;
use crate::life;
use crate::remembered::State;
use common::id::NodeName;
use common::reason::Refusal;
use common::wire::node::StepStatus;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    steps: &[StepStatus],
) -> Result<(), Refusal> {
    if state.node(node).is_none() {
        return Err(Refusal::UnknownNode { name: node.clone() });
    }
    for status in steps {
        life::report(state, events, node, status);
    }
    Ok(())
}
