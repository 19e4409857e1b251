//! The invariants of reservations: each is complete, and no two have the same node at the same
//! time. Compares all of them with each other.

use crate::state::State;
use common::id::NodeName;
use common::time::Time;
use std::collections::BTreeMap;

pub(super) fn check(state: &State, wrong: &mut Vec<String>) {
    let mut of_node: BTreeMap<&NodeName, Vec<(Time, Time)>> = BTreeMap::new();
    for booking in state.reservations() {
        let name = &booking.name;
        if booking.nodes.is_empty() || booking.from >= booking.to {
            wrong.push(format!("reservation {name} books nothing"));
        }
        if state.reservation(name) != Some(booking) {
            wrong.push(format!("reservation {name} goes by another name"));
        }
        for node in &booking.nodes {
            if state.node(node).is_none() {
                wrong.push(format!("reservation {name} books {node}, which does not exist"));
            }
            of_node.entry(node).or_default().push((booking.from, booking.to));
        }
    }
    for (node, mut spans) in of_node {
        spans.sort_unstable();
        if spans.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            wrong.push(format!("node {node} is booked twice at one time"));
        }
    }
}
