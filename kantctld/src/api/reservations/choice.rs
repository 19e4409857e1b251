//! Choice of what a reservation request leaves open: which nodes of a kind, and when within a range
//! of time. Pure. The command `CreateReservation` makes the reservation and checks it again.
//!
//! This is not part of `apply`: a later release may choose differently, and replicas must agree.

use common::gpu::Gpu;
use common::gpu::mig;
use common::id::NodeName;
use common::node::Inventory;
use common::reason::Refusal;
use common::time::Time;
use common::unit::Gpus;
use common::wire::api::ReservationRequest;
use state::State;
use std::collections::{BTreeMap, BTreeSet};

/// The end of a job without a time limit.
const NEVER: Time = Time(u64::MAX);

/// The nodes and the time of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub nodes: BTreeSet<NodeName>,
    pub from: Time,
    pub to: Time,
}

/// Chooses what a request leaves open. With a flexible start, the reservation begins at the
/// earliest time at which no job is expected to run on the nodes. Without one, jobs may run into
/// it, and nodes whose last job ends soonest are preferred.
///
/// # Errors
/// A sentence, if the request is under- or overspecified, or no such nodes exist.
pub fn choose(state: &State, asked: &ReservationRequest, now: Time) -> Result<Choice, Refusal> {
    let bad = |message: String| Err(Refusal::BadAsk { message });
    let name = &asked.name;
    let wanted = match (asked.nodes.len(), asked.node_count, asked.gpus) {
        (0, None, None) => return bad(format!("reservation {name} names no node: give --nodes")),
        (0, Some(count), None) => Wanted::Nodes(count.0 as usize),
        (0, None, Some(gpus)) if gpus > Gpus(0) => Wanted::Gpus(gpus),
        (_, None, None) => Wanted::Nodes(asked.nodes.iter().collect::<BTreeSet<_>>().len()),
        _ => {
            return bad(format!(
                "reservation {name} must have exactly one of nodes, a number of nodes, and a \
                 number of GPUs"
            ));
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
            let fit =
                state.nodes().filter(|(_, n)| n.is_usable() && is_suitable(&n.inventory, asked));
            fit.map(|(name, _)| name).collect()
        }
        named => named.iter().collect::<BTreeSet<_>>().into_iter().collect(),
    };
    let free = |begin: Time| {
        let reserved = reserved_nodes(state, begin, begin + length);
        candidates.iter().copied().filter(move |node| !reserved.contains(node))
    };
    let until = |node: &NodeName| busy.get(node).copied().unwrap_or_default();
    for begin in candidate_times(state, &busy, from, asked.flexible_until) {
        let mut nodes: Vec<&NodeName> = match asked.flexible_until {
            Some(_) => free(begin).filter(|node| until(node) <= begin).collect(),
            // Whether named nodes are reserved already is checked by the command.
            None if !asked.nodes.is_empty() => candidates.clone(),
            None => free(begin).collect(),
        };
        nodes.sort_by_key(|node| (until(node), *node));
        if let Some(nodes) = wanted.first_enough(&nodes, |node| gpus_of(state, node, asked)) {
            return Ok(Choice { nodes, from: begin, to: begin + length });
        }
    }
    let kind = asked.gpu_kind.as_ref();
    let there: Vec<&NodeName> = free(from).collect();
    let (wanted, there) = match wanted {
        Wanted::Nodes(count) => {
            let kind = kind.map(|kind| format!(" with {kind} GPUs")).unwrap_or_default();
            (format!("{count} nodes{kind}"), there.len().to_string())
        }
        Wanted::Gpus(gpus) => {
            let kind = kind.map(|kind| format!("{kind} ")).unwrap_or_default();
            let sum: u32 = there.iter().map(|node| gpus_of(state, node, asked).0).sum();
            (format!("{} {kind}GPUs", gpus.0), sum.to_string())
        }
    };
    match asked.flexible_until {
        Some(until) => bad(format!(
            "{wanted} are not expected to be free together between {from} and {until}: ask for \
             fewer, or for a later start"
        )),
        None => bad(format!(
            "{wanted} were requested, and {there} are up and not reserved then: ask for fewer, or \
             for another time"
        )),
    }
}

/// The quantity to reserve.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Nodes(usize),
    /// Whole nodes with this many GPUs in total.
    Gpus(Gpus),
}

impl Wanted {
    /// The first nodes that are enough; `None` if all of them are not.
    fn first_enough(
        self,
        nodes: &[&NodeName],
        gpus: impl Fn(&NodeName) -> Gpus,
    ) -> Option<BTreeSet<NodeName>> {
        let taken: Vec<&NodeName> = match self {
            Self::Nodes(count) => nodes.get(..count)?.to_vec(),
            Self::Gpus(wanted) => {
                let mut missing = wanted.0;
                let mut taken = Vec::new();
                for node in nodes.iter().copied().filter(|node| gpus(node) > Gpus(0)) {
                    if missing == 0 {
                        break;
                    }
                    missing = missing.saturating_sub(gpus(node).0);
                    taken.push(node);
                }
                (missing == 0).then_some(taken)?
            }
        };
        Some(taken.into_iter().cloned().collect())
    }
}

/// The number of a node's whole GPUs of the requested kind.
fn gpus_of(state: &State, node: &NodeName, asked: &ReservationRequest) -> Gpus {
    state.node(node).map_or(Gpus(0), |node| gpus_of_kind(&node.inventory, asked))
}

fn gpus_of_kind(inventory: &Inventory, asked: &ReservationRequest) -> Gpus {
    let of_kind = |gpu: &&Gpu| mig::accepts(asked.gpu_kind.iter(), &gpu.kind);
    let count = inventory.gpus.iter().filter(of_kind).count();
    Gpus(u32::try_from(count).unwrap_or(u32::MAX))
}

fn is_suitable(inventory: &Inventory, asked: &ReservationRequest) -> bool {
    asked.gpu_kind.is_none() || gpus_of_kind(inventory, asked) > Gpus(0)
}

/// When the last job of each busy node ends.
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

/// The nodes that are reserved at some time in the range.
fn reserved_nodes(state: &State, from: Time, to: Time) -> BTreeSet<&NodeName> {
    let overlaps = state.reservations().filter(|other| other.from < to && from < other.to);
    overlaps.flat_map(|other| &other.nodes).collect()
}

/// The times to try: `from` and, with a flexible start, each end of a job or reservation. No node
/// becomes free between two of them.
fn candidate_times(
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
