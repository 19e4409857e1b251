//! `RegisterNode`: processes the Hello message of a node, with its identity, its inventory and all
//! steps that it holds.
//!
//! A share that the node reported earlier and no longer knows is lost. A share that it never
//! reported is still wanted, unless it was to be stopped: then it counts as stopped. Another
//! machine may take over the name of a node that is not connected; what the old machine held is
//! lost. Resources that the node still uses stay allocated.

use crate::command::Command;
use crate::event::Event;
use crate::fault::NodeFaults;
use crate::job::SharePhase;
use crate::lifecycle;
use crate::node::NodeRecord;
use crate::state::State;
use common::id::{AttemptId, NodeName};
use common::job::{EndCause, Phase};
use common::node::{Contact, Inventory};
use common::reason::{Note, Refusal};
use common::wire::node::StepStatus;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A borrowed `RegisterNode`.
struct Registration<'a> {
    name: &'a NodeName,
    identity: &'a str,
    address: &'a str,
    version: &'a str,
    inventory: &'a Inventory,
    steps: &'a [StepStatus],
}

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    command: &Command,
) -> Result<(), Refusal> {
    let Command::RegisterNode { name, identity, address, version, inventory, steps } = command
    else {
        // The caller passes no other command.
        return Ok(());
    };
    let hello = Registration { name, identity, address, version, inventory, steps };
    register(state, events, &hello)
}

fn register(
    state: &mut State,
    events: &mut Vec<Event>,
    hello: &Registration<'_>,
) -> Result<(), Refusal> {
    let name = hello.name;
    let known = state.node(name);
    let replaced = known.is_some_and(|node| node.identity != hello.identity);
    if replaced && known.is_some_and(|node| node.contact == Contact::Connected) {
        return Err(Refusal::NodeNameTaken { name: name.clone() });
    }
    // An unchanged inventory stays shared with readers of the state, and most nodes have the same
    // one as the node before.
    let before = state.nodes.before(name);
    let equal = known.into_iter().chain(before).find(|node| *node.inventory == *hello.inventory);
    let inventory =
        equal.map_or_else(|| Arc::new(hello.inventory.clone()), |node| node.inventory.clone());
    let record = NodeRecord {
        name: name.clone(),
        identity: hello.identity.to_owned(),
        address: hello.address.to_owned(),
        version: hello.version.to_owned(),
        inventory,
        contact: Contact::Connected,
        drain: known.and_then(|node| node.drain.clone()),
        #[cfg(feature = "next-rules")]
        note: known.and_then(|node| node.note.clone()),
        resumed: known.and_then(|node| node.resumed.clone()),
        start_faults: known
            .filter(|_| !replaced)
            .map_or_else(NodeFaults::default, |node| node.start_faults.clone()),
        findings: known.filter(|_| !replaced).map_or_else(Vec::new, |node| node.findings.clone()),
        answered: known.filter(|_| !replaced).map_or_else(Vec::new, |node| node.answered.clone()),
        health_drains: known.map_or_else(Vec::new, |node| node.health_drains.clone()),
        // The node reports it again.
        data: Arc::default(),
    };
    state.nodes.insert(name, record);
    events.push(Event::NodeRegistered { name: name.clone() });

    if replaced {
        lose_all(state, events, name, &Note::NodeReplaced { node: name });
    }
    for status in hello.steps {
        lifecycle::process_report(state, events, name, status);
    }
    let held: BTreeSet<AttemptId> = hello.steps.iter().map(|status| status.id).collect();
    let believed: Vec<AttemptId> = state.ledger.holders(name).collect();
    for id in believed.into_iter().filter(|id| !held.contains(id)) {
        handle_missing_share(state, events, name, id);
    }
    Ok(())
}

/// Handles a share that the state has and its node does not know.
fn handle_missing_share(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    id: AttemptId,
) {
    let Some((_, share)) = lifecycle::share_rank_and_phase(state, id, node) else { return };
    let stopping = state.element(id.key).is_some_and(|(_, e)| e.phase == Phase::Completing);
    let (cause, message) = match (share, stopping) {
        (SharePhase::Unreported, false) => return,
        (SharePhase::Unreported, true) => (EndCause::Stopped, None),
        _ => (EndCause::Lost, Some(Note::NotOnNode { node }.to_string())),
    };
    let end = lifecycle::unreported_end(cause, state.now, message);
    lifecycle::end_share(state, events, node, id, &end);
}

/// Ends all shares of a node as lost.
pub(super) fn lose_all(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    note: &Note<'_>,
) {
    let believed: Vec<AttemptId> = state.ledger.holders(node).collect();
    for id in believed {
        let end = lifecycle::unreported_end(EndCause::Lost, state.now, Some(note.to_string()));
        lifecycle::end_share(state, events, node, id, &end);
    }
}
