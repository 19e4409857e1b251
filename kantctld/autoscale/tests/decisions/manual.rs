//! The examples of the manual, docs/operating/autoscaling.md.

use crate::role::{RoleUnderPolicy, in_flight, policy};
use common::autoscale::Rule;

const MANUAL: &str = include_str!("../../../../docs/operating/autoscaling.md");

#[test]
fn the_policies_of_the_manual_are_valid() {
    let blocks = MANUAL.split("```toml\n").skip(1);
    let policies: Vec<_> = blocks.map(|block| policy(block.split("```").next().unwrap())).collect();
    assert_eq!(policies.len(), 2);
    assert!(matches!(policies[0].rule, Rule::Concurrency(_)));
    assert!(matches!(policies[1].rule, Rule::Latency(_)));
}

#[test]
fn the_sentence_of_the_manual_is_that_of_a_decision() {
    let policy = policy("max = 5\n[concurrency]\ntarget = 2");
    let sentence = RoleUnderPolicy::new(policy, 4).step(in_flight(4, 8.4)).reason.to_string();
    assert!(MANUAL.contains(&format!("    {sentence}\n")), "{sentence}");
}
