//! `DrainNode`: stops new jobs from starting on a node. For operators only. Running jobs continue.

use super::target;
use crate::command::Actor;
use crate::event::Event;
use crate::state::State;
use common::health::DrainCause;
use common::id::NodeName;
use common::node::Drain;
use common::reason::{BadRequest, Refusal};

/// The maximum length of a reason, in bytes.
const REASON_BYTES_MAX: usize = 1024;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    name: &NodeName,
    reason: &str,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if reason.trim().is_empty() || reason.len() > REASON_BYTES_MAX {
        let (node, most) = (name.clone(), REASON_BYTES_MAX);
        return Err(BadRequest::DrainReason { node, most }.into());
    }
    let now = state.now;
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    // A second drain replaces the reason and the operator in charge, but not the time.
    let (by, reason) = (actor.uid, reason.to_owned());
    let since = node.drain.as_ref().map_or(now, |drain| drain.since);
    node.drain = Some(Drain { reason: reason.clone(), by, since, cause: DrainCause::Operator });
    events.push(Event::NodeDrained { name: name.clone(), by, reason });
    Ok(())
}
