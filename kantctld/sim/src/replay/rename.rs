//! Converts a policy with the node names of the cluster file to the engine's names, and adds the
//! network positions of that file.

use super::Cluster;
use common::id::{NodeName, SwitchName};
use common::policy::Policy;
use common::topology::{Position, Topology};
use std::collections::BTreeMap;
use trace::Node;

/// The policy in the engine's names. Nodes that the cluster does not have keep their names, which
/// no node of the engine has. If the policy describes no network, the cluster's file does.
pub(crate) fn renamed(policy: &Policy, cluster: &Cluster, nodes: &[Node]) -> Policy {
    let names: BTreeMap<&str, &NodeName> = nodes
        .iter()
        .enumerate()
        .filter_map(|(place, node)| Some((node.name.as_str(), cluster.name(place)?)))
        .collect();
    let renamed = |name: &NodeName| -> NodeName {
        names.get(name.as_str()).map_or_else(|| unknown_node_name(name), |name| (*name).clone())
    };
    let mut policy = policy.clone();
    for queue in &mut policy.queues {
        queue.nodes = queue.nodes.iter().map(renamed).collect();
    }
    let topology = std::mem::take(&mut policy.topology);
    policy.topology = if topology.0.is_empty() {
        topology_from_nodes(cluster, nodes)
    } else {
        let place = |(name, position): (NodeName, Position)| {
            Some((names.get(name.as_str()).copied()?.clone(), position))
        };
        Topology(topology.0.into_iter().filter_map(place).collect())
    };
    policy
}

/// A name that no node of the engine has: those begin with `n`.
fn unknown_node_name(name: &NodeName) -> NodeName {
    let tail: String = name.as_str().chars().take(55).collect();
    NodeName::new(format!("unknown-{tail}")).unwrap_or_else(|_| name.clone())
}

/// The nodes' positions by the columns of their file. Values that are no valid switch names are
/// ignored.
fn topology_from_nodes(cluster: &Cluster, nodes: &[Node]) -> Topology {
    let switch = |name: &Option<String>| -> Option<SwitchName> {
        name.as_deref().and_then(|name| SwitchName::new(name).ok())
    };
    let position = |(place, node): (usize, &Node)| {
        let position = Position {
            leaf: switch(&node.leaf),
            spine: switch(&node.spine),
            superspine: switch(&node.core),
            ..Position::default()
        };
        Some((cluster.name(place)?.clone(), position))
    };
    Topology(nodes.iter().enumerate().filter_map(position).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Named;
    use super::*;
    use trace::read_nodes;

    #[test]
    fn a_policy_follows_the_names_of_the_engine_and_the_cluster_says_where_nodes_stand() {
        let nodes = read_nodes("n", b"name,gpus,leaf\ng2,8,rack-b\ng1,8,rack-a\n").unwrap();
        let cluster = Cluster::new(&nodes, &[]);
        let mut policy = Named::Kant.policy();
        policy.queues[0].nodes = ["g1", "g9"].map(|name| NodeName::new(name).unwrap()).to_vec();
        let renamed = renamed(&policy, &cluster, &nodes);
        let names: Vec<&str> = renamed.queues[0].nodes.iter().map(NodeName::as_str).collect();
        assert_eq!(names, ["n0000000001", "unknown-g9"]);
        let leaf = |place: usize| {
            let position = &renamed.topology.0[cluster.name(place).unwrap()];
            position.leaf.as_ref().map(SwitchName::as_str)
        };
        assert_eq!((leaf(0), leaf(1)), (Some("rack-b"), Some("rack-a")));
    }
}
