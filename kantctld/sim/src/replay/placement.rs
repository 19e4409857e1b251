//! Placements by name.

use common::policy::{Placement, Policy};

/// Every placement, with its name in policy files.
pub const PLACEMENTS: [(&str, Placement); 6] = [
    ("first", Placement::First),
    ("binpack", Placement::Binpack),
    ("ebinpack", Placement::EBinpack),
    ("spread", Placement::Spread),
    ("espread", Placement::ESpread),
    ("fgd", Placement::Fgd),
];

/// The name of a placement.
pub(super) fn placement_name(placement: Placement) -> &'static str {
    let named = PLACEMENTS.iter().find(|(_, known)| *known == placement);
    named.map_or("other", |(name, _)| name)
}

/// The placements of a policy's queues, each once, in the order of the queues.
#[must_use]
pub fn placements_of(policy: &Policy) -> String {
    let mut names: Vec<&str> = Vec::new();
    for queue in &policy.queues {
        let name = placement_name(queue.placement);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join("+")
}

#[cfg(test)]
mod tests {
    use super::super::Named;
    use super::*;

    #[test]
    fn names_are_those_of_policy_files() {
        for (name, placement) in PLACEMENTS {
            assert_eq!(serde_json::to_value(placement).unwrap(), name);
        }
    }

    #[test]
    fn a_policy_of_several_placements_names_each_once() {
        let mut policy = Named::Kant.policy();
        policy.queues.push(Named::Easy.policy().queues[0].clone());
        policy.queues.push(Named::Fifo.policy().queues[0].clone());
        assert_eq!(placements_of(&policy), "ebinpack+first");
    }
}
