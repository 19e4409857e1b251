//! Bounds and hours, with every rule.

use crate::role::{RoleUnderPolicy, in_flight, policy};
use autoscale::Sample;
use common::autoscale::Replicas;

const OFFICE: &str = "max = 6
    [concurrency]
    target = 1
    [[schedule]]
    from = \"08:00\"
    to = \"20:00\"
    days = \"mon-fri\"
    min = 3
    [[schedule]]
    from = \"22:00\"
    to = \"06:00\"
    max = 2";

#[test]
fn hours_change_the_bounds_of_a_rule() {
    for (hour, load, wanted, limit) in [
        (7, 1.0, 2, ""),
        (7, 9.0, 6, "; at most 6 are allowed"),
        (9, 1.0, 3, "; at least 3 are required"),
        (23, 9.0, 2, "; at most 2 are allowed"),
    ] {
        let mut role = RoleUnderPolicy::new(policy(OFFICE), 2);
        role.now = hour * 3600;
        let decision = role.step(in_flight(2, load));
        assert_eq!(decision.wanted, Replicas(wanted), "{hour}");
        assert!(decision.reason.to_string().ends_with(limit), "{hour}: {}", decision.reason);
    }
}

#[test]
fn without_a_rule_the_minimum_is_wanted_and_hours_raise_it() {
    let policy = policy(
        "min = 1\nmax = 6\n[[schedule]]\nfrom = \"08:00\"\nto = \"20:00\"\ndays = \"thu\"\nmin = 4",
    );
    let mut role = RoleUnderPolicy::new(policy, 1);
    let sample = Sample::default();
    let mut at = |hour: u64| {
        role.now = hour * 3600;
        role.step(sample).wanted.0
    };
    assert_eq!([at(7), at(8), at(19), at(20), at(24 + 12)], [1, 4, 4, 1, 1]);
}

#[test]
fn a_service_without_a_minimum_starts_for_a_request_and_stops_after_it() {
    let mut role = RoleUnderPolicy::new(policy("max = 1"), 0);
    assert_eq!(role.run(10, in_flight(0, 0.0)), [0]);
    assert_eq!(role.run(60, in_flight(0, 1.0)), [1]);
    assert_eq!(role.run(30, in_flight(0, 0.0)), [1], "the grace");
    assert_eq!(role.run(2, in_flight(0, 0.0)), [0]);
}
