//! The part of a controller's configuration that emulated nodes need: their admission and topology.

use common::hostlist;
use common::id::NodeName;
use std::fmt::Write as _;

/// Lines for kantctld.toml: the nodes in order, below N leaf switches.
#[must_use]
pub fn controller_config(names: &[NodeName], leafs: usize) -> String {
    let mut text = "emulated = true\n".to_owned();
    let under_each = names.len().div_ceil(leafs.max(1)).max(1);
    for (number, under) in names.chunks(under_each).enumerate().take(leafs) {
        let nodes = hostlist::compress(under);
        // Writing into a string cannot fail.
        let _ = write!(text, "\n[[leaf]]\nname = \"leaf{}\"\nnodes = \"{nodes}\"\n", number + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_spread_evenly_over_leafs_in_their_order() {
        let names = super::super::node_names("em", 10).unwrap();
        let text = controller_config(&names, 3);
        let config: common::config::ControllerConfig =
            common::config::read("kantctld.toml", &text).unwrap();
        assert!(config.emulated);
        let nodes: Vec<&str> = config.leaf.iter().map(|leaf| leaf.nodes.as_str()).collect();
        assert_eq!(nodes, ["em[01-04]", "em[05-08]", "em[09-10]"]);
        assert_eq!(controller_config(&names, 0), "emulated = true\n");
    }
}
