//! Placements by name.

use common::policy::Policy;

/// The placements of a policy's queues, as policy files name them: each once, in the order of the
/// queues.
#[must_use]
pub fn placements_of(policy: &Policy) -> String {
    let mut names: Vec<String> = Vec::new();
    for queue in &policy.queues {
        // A variant without data is always serialized as its name.
        let value = serde_json::to_value(queue.placement).unwrap_or_default();
        let name = value.as_str().unwrap_or_default().to_owned();
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
    fn a_policy_of_several_placements_names_each_once() {
        let mut policy = Named::Kant.policy();
        policy.queues.push(Named::Easy.policy().queues[0].clone());
        policy.queues.push(Named::Fifo.policy().queues[0].clone());
        assert_eq!(placements_of(&policy), "ebinpack+first");
    }
}
