//! The rules `concurrency` and `rps`, with the examples of Knative's documentation and tests.

use crate::role::{RoleUnderPolicy, in_flight, policy, unbounded};
use autoscale::Sample;
use common::autoscale::{Fraction, PerReplica, Replicas, RequestRate, Requests, Rule};
use common::time::Span;

/// The target is reached in full, as in Knative's unit tests.
fn concurrency(target: u32) -> PerReplica<Requests> {
    let utilisation = Fraction::WHOLE;
    PerReplica { utilisation, ..PerReplica::new(Requests::whole(target)) }
}

fn role(target: u32, current: u32) -> RoleUnderPolicy {
    RoleUnderPolicy::new(unbounded(Rule::Concurrency(concurrency(target))), current)
}

#[test]
fn the_sentence_names_the_figures() {
    let policy = policy("max = 5\n[concurrency]\ntarget = 2");
    let decision = RoleUnderPolicy::new(policy, 4).step(in_flight(4, 8.4));
    assert_eq!(decision.wanted, Replicas(5));
    assert_eq!(
        decision.reason.to_string(),
        "8.4 requests in flight over 60 s; target 2 each at 70 %: 6 replicas; at most 5 are allowed"
    );
}

#[test]
fn a_steady_load_gets_the_replicas_of_the_target() {
    // Knative: a target of 10 and a load of 100 needs 10 replicas.
    assert_eq!(role(10, 10).run(60, in_flight(0, 100.0)), [10]);
    // 70 % of a target of 100 are aimed at: 71 requests need two replicas.
    let defaults = unbounded(Rule::Concurrency(PerReplica::new(Requests::whole(100))));
    assert_eq!(RoleUnderPolicy::new(defaults.clone(), 1).run(60, in_flight(0, 70.0)), [1]);
    assert_eq!(RoleUnderPolicy::new(defaults, 1).run(60, in_flight(0, 71.0)), [2]);
}

#[test]
fn requests_per_second_are_counted_in_the_same_way() {
    let rule = PerReplica::new(RequestRate::whole(200));
    let rate = Some(RequestRate::whole(1000));
    let mut role = RoleUnderPolicy::new(unbounded(Rule::Rps(rule)), 8);
    assert_eq!(role.run(10, Sample { rate, ..Sample::default() }), [8]);
    let sentence = role.step(Sample { rate, ..in_flight(8, 0.0) }).reason.to_string();
    assert_eq!(sentence, "1000 requests per second over 60 s; target 200 each at 70 %: 8 replicas");
}

#[test]
fn a_burst_is_answered_at_once_and_held_for_a_stable_window() {
    let mut role = role(1, 10);
    assert_eq!(role.run(60, in_flight(0, 10.0)), [10]);
    // Of the panic window only the last sample shows the burst, then all do.
    let burst = role.run(6, in_flight(0, 50.0));
    assert_eq!(burst, [24, 37, 50], "the means of 10, 10, 50; 10, 50, 50; and 50");
    // The first is above twice those ready, and the time runs from then.
    assert!(role.state.panic.is_some());
    assert_eq!(role.run(56, in_flight(0, 10.0)), [50], "never down in panic");
    assert_eq!(role.run(30, in_flight(0, 10.0)), [25, 12, 10]);
    assert!(role.state.panic.is_none());
}

#[test]
fn replicas_that_do_not_become_ready_prolong_the_burst() {
    let mut role = role(1, 1);
    for _ in 0..60 {
        role.step(in_flight(1, 4.0));
        role.now += 2;
    }
    assert_eq!(role.state.panic.map(|panic| panic.last), Some(crate::role::seconds(118)));
    assert_eq!(role.current, Replicas(4));
}

#[test]
fn at_most_half_is_removed_in_one_step() {
    let mut role = role(1, 16);
    assert_eq!(role.step(in_flight(16, 1.0)).wanted, Replicas(8));
    role.now += 2;
    let decision = role.step(in_flight(8, 1.0));
    assert_eq!(decision.wanted, Replicas(4));
    assert!(decision.reason.to_string().ends_with("4 replicas at least in this step"));
}

#[test]
fn up_is_limited_by_a_multiple_of_those_that_are_ready() {
    let up_factor = Fraction::whole(3);
    let rule = PerReplica { up_factor, ..concurrency(1) };
    let mut role = RoleUnderPolicy::new(unbounded(Rule::Concurrency(rule)), 2);
    let decision = role.step(in_flight(2, 100.0));
    assert_eq!(decision.wanted, Replicas(6));
    assert!(decision.reason.to_string().contains("; 6 replicas at most in this step"));
    // By default a thousand times.
    assert_eq!(self::role(1, 2).step(in_flight(2, 2000.0)).wanted, Replicas(2000));
    assert_eq!(self::role(1, 2).step(in_flight(2, 3000.0)).wanted, Replicas(2000));
}

#[test]
fn a_delay_keeps_the_most_of_its_window() {
    let down_delay_seconds = Span::from_seconds(120);
    let rule = PerReplica { down_delay_seconds, ..concurrency(1) };
    let mut role = RoleUnderPolicy::new(unbounded(Rule::Concurrency(rule)), 4);
    role.run(60, in_flight(0, 4.0));
    assert_eq!(role.run(56 + 120, in_flight(0, 3.0)), [4], "the mean is above 3 for 56 s");
    assert_eq!(role.run(4, in_flight(0, 3.0)), [3]);
}

#[test]
fn zero_comes_after_a_stable_window_and_the_grace() {
    let mut role = role(1, 1);
    role.run(60, in_flight(0, 1.0));
    assert_eq!(role.run(60, in_flight(0, 0.0)), [1], "the mean is above zero for 56 s");
    assert_eq!(role.run(28, in_flight(0, 0.0)), [1]);
    let decision = role.step(in_flight(1, 0.0));
    assert_eq!(decision.wanted, Replicas(0), "{}", decision.reason);
    role.now += 2;
    let held = Sample { held: Requests::whole(1), ..in_flight(0, 0.0) };
    assert_eq!(role.step(held).wanted, Replicas(1), "a request that is held brings one back");
}

#[test]
fn without_samples_nothing_changes() {
    let mut role = role(1, 7);
    role.run(10, in_flight(0, 7.0));
    role.now += 120;
    let decision =
        role.step(Sample { reporting: Replicas(0), in_flight: None, ..in_flight(7, 0.0) });
    assert_eq!(decision.wanted, Replicas(7));
    assert_eq!(decision.reason.to_string(), "no metrics within 60 s: 7 replicas, as before");
}

#[test]
fn replicas_that_do_not_report_count_like_the_others() {
    let sample = Sample { reporting: Replicas(3), ..in_flight(4, 3.0) };
    assert_eq!(role(1, 4).step(sample).wanted, Replicas(4));
}
