//! The position of each node in the topology, from `[[leaf]]`, `[[nvlink_domain]]` and `[[zone]]`
//! tables and a topology file. Sources that contradict each other are an error.

use super::error::{Place, PolicyError, Problem};
use super::queues::required_name;
use crate::config::ControllerConfig;
use crate::hostlist;
use crate::id::{NodeName, SwitchName, ZoneName};
use crate::policy::Policy;
use crate::topology::{Position, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The positions in the file, with those in the tables.
pub(super) fn topology(
    config: &ControllerConfig,
    mut topology: Topology,
) -> Result<Topology, PolicyError> {
    let nodes = &mut topology.0;
    let mut above = BTreeMap::new();
    for (number, table) in config.leaf.iter().enumerate() {
        let leaf = required_name("leaf", number, table.name.as_ref())?;
        let place = |key| table_place("leaf", number, leaf.as_str(), key);
        if let (Some(spine), Some(superspine)) = (&table.spine, &table.superspine) {
            let first = above.entry(spine).or_insert(superspine);
            if *first != superspine {
                let (below, first) = (spine.to_string(), first.to_string());
                let problem = Problem::TwoAbove { below, first, second: superspine.to_string() };
                return Err(PolicyError::at(place("superspine"), problem));
            }
        }
        for node in expand(&table.nodes, || place("nodes"))? {
            let position: &mut Position = nodes.entry(node.clone()).or_default();
            set_once(&mut position.leaf, Some(&leaf), "leaf", &node, || place("nodes"))?;
            set_once(&mut position.spine, table.spine.as_ref(), "spine", &node, || place("spine"))?;
            let superspine = table.superspine.as_ref();
            set_once(&mut position.superspine, superspine, "superspine", &node, || {
                place("superspine")
            })?;
        }
    }
    for (number, table) in config.nvlink_domain.iter().enumerate() {
        let domain: SwitchName = required_name("nvlink_domain", number, table.name.as_ref())?;
        let place = || table_place("nvlink_domain", number, domain.as_str(), "nodes");
        for node in expand(&table.nodes, place)? {
            let position = nodes.entry(node.clone()).or_default();
            set_once(&mut position.nvlink_domain, Some(&domain), "NVLink domain", &node, place)?;
        }
    }
    for (number, table) in config.zone.iter().enumerate() {
        let zone: ZoneName = required_name("zone", number, table.name.as_ref())?;
        let place = || table_place("zone", number, zone.as_str(), "nodes");
        for node in expand(&table.nodes, place)? {
            let position = nodes.entry(node.clone()).or_default();
            set_once(&mut position.zone, Some(&zone), "zone", &node, place)?;
        }
    }
    Ok(topology)
}

/// Reports the first node of these tables that does not exist.
///
/// # Errors
/// [`PolicyError`], with the table.
pub(super) fn check_nodes_known(
    config: &ControllerConfig,
    known: impl Fn(&NodeName) -> bool,
) -> Result<(), PolicyError> {
    let leafs = config.leaf.iter().enumerate().map(|(number, table)| {
        ("leaf", number, table.name.as_ref().map(ToString::to_string), &table.nodes)
    });
    let domains = config.nvlink_domain.iter().enumerate().map(|(number, table)| {
        ("nvlink_domain", number, table.name.as_ref().map(ToString::to_string), &table.nodes)
    });
    let zones = config.zone.iter().enumerate().map(|(number, table)| {
        ("zone", number, table.name.as_ref().map(ToString::to_string), &table.nodes)
    });
    for (table, number, name, nodes) in leafs.chain(domains).chain(zones) {
        let name = name.unwrap_or_default();
        let place = || table_place(table, number, &name, "nodes");
        let nodes = expand(nodes, place)?;
        if let Some(unknown) = nodes.into_iter().find(|node| !known(node)) {
            return Err(PolicyError::at(place(), Problem::UnknownNode(unknown)));
        }
    }
    Ok(())
}

fn table_place(table: &'static str, number: usize, name: &str, key: &'static str) -> Place {
    Place { table, number: Some(number), name: Some(name.to_owned()), key: Some(key) }
}

fn expand(text: &str, place: impl Fn() -> Place) -> Result<Vec<NodeName>, PolicyError> {
    if text.is_empty() {
        return Err(PolicyError::at(place(), Problem::NoNodes));
    }
    hostlist::expand(text).map_err(|error| PolicyError::at(place(), error))
}

/// Sets an unknown value; a different known value is a contradiction. The same value from two
/// tables of one name is found by the check of names.
fn set_once<N: Clone + PartialEq + std::fmt::Display>(
    known: &mut Option<N>,
    said: Option<&N>,
    what: &str,
    node: &NodeName,
    place: impl Fn() -> Place,
) -> Result<(), PolicyError> {
    match (known.as_ref(), said) {
        (Some(first), Some(said)) if first != said => {
            let (node, first) = (node.clone(), format!("{what} {first}"));
            Err(PolicyError::at(place(), Problem::NodeTwice { node, first }))
        }
        (None, Some(said)) => {
            *known = Some(said.clone());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Every zone that a queue names must have nodes.
pub(super) fn check_zones_known(policy: &Policy) -> Result<(), PolicyError> {
    let zones: BTreeSet<&ZoneName> =
        policy.topology.0.values().filter_map(|position| position.zone.as_ref()).collect();
    for (number, queue) in policy.queues.iter().enumerate() {
        let Some(zone) = queue.zone.as_ref().filter(|zone| !zones.contains(zone)) else { continue };
        let known: Vec<&str> = zones.iter().map(|zone| zone.as_str()).collect();
        let known = match known.as_slice() {
            [] => String::new(),
            known => format!(", or name one of {}", known.join(", ")),
        };
        let place = table_place("queue", number, queue.name.as_str(), "zone");
        return Err(PolicyError::at(place, Problem::UnknownZone { zone: zone.clone(), known }));
    }
    Ok(())
}
