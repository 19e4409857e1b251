//! What an operator left open in a booking is chosen here, before it is proposed: which nodes of a
//! kind, and when between two moments. Pure: looks at the state it is handed. Never books
//! anything; `CreateReservation` does, and checks again.
//!
//! Here and not in `apply`: a later release may choose otherwise, and replicas must agree.

use common::id::NodeName;
use common::node::Inventory;
use common::reason::Refusal;
use common::time::Time;
use common::wire::api::ReservationRequest;
use state::State;
use std::collections::{BTreeMap, BTreeSet};

/// Nobody knows when a job without a time limit is over.
const NEVER: Time = Time(u64::MAX);

/// Which nodes, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its nodes.
    pub nodes: BTreeSet<NodeName>,
    /// From.
    pub from: Time,
    /// To.
    pub to: Time,
}

/// Chooses what a request leaves open. With a flexible start: the earliest moment at which no job
/// is expected to run on the nodes any more. Without one, jobs may run into it; nodes where the
/// last one is over soonest are preferred.
///
/// # Errors
/// A sentence, when the request says too little or too much, or there are no such nodes.
pub fn choose(state: &State, asked: &ReservationRequest, now: Time) -> Result<Choice, Refusal> {
    let bad = |message: String| Err(Refusal::BadAsk { message });
    let name = &asked.name;
    let wanted = match (asked.nodes.len(), asked.node_count) {
        (0, None) => return bad(format!("reservation {name} names no node: give --nodes")),
        (0, Some(count)) => count.0 as usize,
        (_, None) => asked.nodes.iter().collect::<BTreeSet<_>>().len(),
        (_, Some(_)) => {
            return bad(format!("reservation {name} has nodes and a number: give one of them"));
        }
    };
    let from = asked.from.max(now);
    let length = asked.to.since(from);
    let busy = busy_until(state);
    if let Some(unknown) = asked.nodes.iter().find(|name| state.node(name).is_none()) {
        return Err(Refusal::UnknownNode { name: unknown.clone() });
    }
    let candidates: Vec<&NodeName> = match asked.nodes.as_slice() {
        [] => {
            let fit = state.nodes().filter(|(_, n)| n.is_usable() && suits(&n.inventory, asked));
            fit.map(|(name, _)| name).collect()
        }
        named => named.iter().collect::<BTreeSet<_>>().into_iter().collect(),
    };
    let free = |begin: Time| {
        let booked = booked(state, begin, begin + length);
        candidates.iter().copied().filter(move |node| !booked.contains(node))
    };
    let until = |node: &NodeName| busy.get(node).copied().unwrap_or_default();
    for begin in moments(state, &busy, from, asked.flexible_until) {
        let mut nodes: Vec<&NodeName> = match asked.flexible_until {
            Some(_) => free(begin).filter(|node| until(node) <= begin).collect(),
            // Whether named nodes are booked already is told by the command, by name.
            None if !asked.nodes.is_empty() => candidates.clone(),
            None => free(begin).collect(),
        };
        nodes.sort_by_key(|node| (until(node), *node));
        if nodes.len() >= wanted {
            let nodes = nodes.into_iter().take(wanted).cloned().collect();
            return Ok(Choice { nodes, from: begin, to: begin + length });
        }
    }
    let kind = asked.gpu_kind.as_ref().map(|kind| format!(" with {kind} GPUs")).unwrap_or_default();
    match asked.flexible_until {
        Some(until) => bad(format!(
            "{wanted} nodes{kind} are not expected to be free together between {from} and {until}: \
             ask for fewer, or for a later start"
        )),
        None => bad(format!(
            "{} nodes{kind} are up and not booked then, {wanted} were asked for: ask for fewer, \
             or for another time",
            free(from).count()
        )),
    }
}

fn suits(inventory: &Inventory, asked: &ReservationRequest) -> bool {
    let kind = asked.gpu_kind.as_ref();
    kind.is_none_or(|kind| inventory.gpus.iter().any(|gpu| gpu.kind == *kind))
}

/// When the last job of each node is over; nodes without one are not named.
fn busy_until(state: &State) -> BTreeMap<&NodeName, Time> {
    let mut busy = BTreeMap::new();
    for (node, held) in state.ledger().nodes() {
        let ends = held.holders().map(|(id, _)| {
            let found = state.element(id.key);
            let ends_by = found.and_then(|(record, element)| {
                element.run.as_ref().and_then(|run| run.ends_by(&record.spec.ask))
            });
            ends_by.unwrap_or(NEVER)
        });
        busy.insert(node, ends.max().unwrap_or_default());
    }
    busy
}

/// The nodes that are booked for some of a time.
fn booked(state: &State, from: Time, to: Time) -> BTreeSet<&NodeName> {
    let overlaps = state.reservations().filter(|other| other.from < to && from < other.to);
    overlaps.flat_map(|other| &other.nodes).collect()
}

/// The moments at which it could begin: at once and, where it may begin later, whenever a job or a
/// booking is over. Nothing comes free between two of them.
fn moments(
    state: &State,
    busy: &BTreeMap<&NodeName, Time>,
    from: Time,
    flexible_until: Option<Time>,
) -> BTreeSet<Time> {
    let latest = flexible_until.unwrap_or(from);
    let ends = busy.values().copied().chain(state.reservations().map(|other| other.to));
    ends.filter(|end| (from..=latest).contains(end)).chain([from]).collect()
}

#[cfg(test)]
mod tests;
