//! Nodes as users see them.

use crate::viewer::{Viewer, without_details};
use common::health::{DrainCause, Finding};
use common::id::NodeName;
use common::node::Drain;
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::{NodeList, NodeView};
use state::State;

/// A node; `None` if there is none of that name, or the viewer does not see it.
#[must_use]
pub fn node_view(state: &State, viewer: &Viewer, name: &NodeName) -> Option<NodeView> {
    if !viewer.sees_node(state, name) {
        return None;
    }
    let holders = state.ledger().holders(name).map(|id| id.key);
    let (node, held) = (state.node(name)?, state.ledger().holdings_on(name));
    let cpus_used = Cpus(held.map_or(0, |held| held.cpus().len()));
    let gpus_used = Gpus(held.map_or(0, |held| held.gpus().len().try_into().unwrap_or(u32::MAX)));
    Some(NodeView {
        name: name.clone(),
        status: node.status(cpus_used, gpus_used),
        contact: node.contact,
        drain: node.drain.clone().map(|drain| drain_without_details(viewer, drain)),
        inventory: node.inventory.as_ref().clone(),
        cpus_used,
        memory_used: held.map_or(Bytes::ZERO, |held| held.memory()),
        gpus_used,
        jobs: holders.filter(|key| viewer.sees_key(state, *key)).collect(),
        address: node.address.clone(),
        version: node.version.clone(),
        findings: node.findings.iter().map(|one| visible_finding(viewer, one)).collect(),
        resumed: node.resumed.clone(),
        data: node.data.to_vec(),
        revoked_at: state.enrolment(name).and_then(|one| Some(one.revoked?.at)),
    })
}

/// A drain without what a job or its programs said.
pub(super) fn drain_without_details(viewer: &Viewer, drain: Drain) -> Drain {
    let reason = match drain.cause {
        DrainCause::Operator => drain.reason,
        _ if viewer.hides_jobs() => without_details(&drain.reason).to_owned(),
        _ => drain.reason,
    };
    Drain { reason, ..drain }
}

fn visible_finding(viewer: &Viewer, finding: &Finding) -> Finding {
    let says = match viewer.hides_jobs() {
        true => "operators see the details".to_owned(),
        false => finding.says.clone(),
    };
    Finding { says, ..finding.clone() }
}

/// All nodes that the viewer sees, by name.
#[must_use]
pub fn node_list(state: &State, viewer: &Viewer) -> NodeList {
    let view = |name| Some(NodeView { data: Vec::new(), ..node_view(state, viewer, name)? });
    let nodes = state.nodes().filter_map(|(name, _)| view(name)).collect();
    NodeList { nodes, as_of: state.now() }
}
