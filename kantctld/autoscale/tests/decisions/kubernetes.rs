//! The rule `utilisation`, with the examples of the Kubernetes documentation.

use crate::role::{RoleUnderPolicy, policy, unbounded};
use autoscale::Sample;
use common::autoscale::{Fraction, Level, Metric, Replicas, Requests, Rule, Utilisation};

fn rule(target: f64) -> Utilisation {
    Utilisation::new(Metric::GpuUsage, Level::from_f64(target).expect("a number"))
}

fn role(rule: Utilisation, current: u32) -> RoleUnderPolicy {
    RoleUnderPolicy::new(unbounded(Rule::Utilisation(rule)), current)
}

/// Replicas that each use this part of their GPUs' time.
fn usage(ready: u32, each: f64) -> Sample {
    let gpu_usage = Fraction::from_f64(each * f64::from(ready));
    let ready = Replicas(ready);
    Sample { ready, reporting: ready, gpu_usage, ..Sample::default() }
}

#[test]
fn the_number_is_in_proportion_to_the_metric() {
    // Kubernetes: a value of 200 with a target of 100 doubles the replicas, 50 halves them.
    for (each, wanted) in [(0.8, 6), (0.4, 3), (0.6, 5), (0.45, 4)] {
        let decision = role(rule(0.4), 3).step(usage(3, each));
        let proportional = decision.reason.to_string();
        assert!(proportional.contains(&format!(": {wanted} replicas")), "{each}: {proportional}");
    }
}

#[test]
fn a_difference_within_the_tolerance_changes_nothing() {
    for (each, wanted) in [(0.55, 10), (0.551, 12), (0.45, 10)] {
        assert_eq!(role(rule(0.5), 10).step(usage(10, each)).wanted, Replicas(wanted), "{each}");
    }
}

#[test]
fn in_15_seconds_the_number_doubles_or_grows_by_four() {
    let mut role = role(rule(0.1), 1);
    let mut numbers = Vec::new();
    for _ in 0..5 {
        numbers.push(role.step(usage(role.current.0, 1.0)).wanted.0);
        role.now += 15;
    }
    assert_eq!(numbers, [5, 10, 20, 40, 80]);
    // Within a period the limit counts from its beginning.
    let mut role = self::role(rule(0.1), 10);
    assert_eq!(role.step(usage(10, 1.0)).wanted, Replicas(20));
    role.now += 14;
    let decision = role.step(usage(20, 1.0));
    assert_eq!(decision.wanted, Replicas(20));
    role.now += 1;
    assert_eq!(role.step(usage(20, 1.0)).wanted, Replicas(40));
}

#[test]
fn replicas_are_removed_after_300_seconds_and_then_all_at_once() {
    let mut role = role(rule(0.5), 10);
    assert_eq!(role.step(usage(10, 0.1)).wanted, Replicas(10));
    role.now = 298;
    let decision = role.step(usage(10, 0.1));
    assert_eq!(decision.wanted, Replicas(10));
    assert!(decision.reason.to_string().ends_with("; 10 replicas were needed within 300 s"));
    role.now = 300;
    assert_eq!(role.step(usage(10, 0.1)).wanted, Replicas(2));
}

#[test]
fn replicas_that_start_are_taken_to_do_nothing_when_more_are_needed() {
    // Two of five are ready and full. With the three others they are at 0.4 each.
    let full = usage(2, 1.0);
    assert_eq!(role(rule(0.5), 5).step(full).wanted, Replicas(5));
    assert_eq!(role(rule(0.3), 5).step(full).wanted, Replicas(7));
    // Nine at 0.58 and one at 0 are 0.522 each, within the tolerance.
    assert_eq!(role(rule(0.5), 10).step(usage(9, 0.58)).wanted, Replicas(10));
}

#[test]
fn replicas_that_do_not_report_are_taken_to_do_nothing_or_to_be_at_the_target() {
    let silent = |each| {
        let gpu_usage = Fraction::from_f64(each * 6.0);
        Sample { reporting: Replicas(6), gpu_usage, ..usage(10, 0.0) }
    };
    // 6 at 1.0 and 4 at 0 are 0.6 each, 20 % above the target.
    assert_eq!(role(rule(0.5), 10).step(silent(1.0)).wanted, Replicas(12));
    // 6 at 0.25 and 4 at 0.5 are 0.35 each.
    let text = role(rule(0.5), 10).step(silent(0.25)).reason.to_string();
    assert!(text.contains(": 7 replicas"), "{text}");
}

#[test]
fn a_longer_time_for_additions_is_kept() {
    // SkyServe: up after 300 s, down after 1200 s, over a window of 60 s.
    let policy = policy(
        "max = 20\n[utilisation]\nmetric = \"rps\"\ntarget = 2\ntolerance = 0
        window_seconds = 60\nup_stabilisation_seconds = 300\ndown_stabilisation_seconds = 1200
        up_part = 1000",
    );
    let mut role = RoleUnderPolicy::new(policy, 2);
    let rate = common::autoscale::RequestRate::from_f64(11.0);
    let sample = Sample { rate, ..Sample::default() };
    assert_eq!(role.run(298, sample), [2]);
    assert_eq!(role.run(60, sample), [2, 6]);
    let rate = common::autoscale::RequestRate::from_f64(1.0);
    let sample = Sample { rate, ..Sample::default() };
    assert_eq!(role.run(1200, sample), [6], "the mean falls at first");
    assert_eq!(role.run(100, sample).last(), Some(&1));
}

#[test]
fn one_replica_stays_while_requests_are_in_flight() {
    let mut role = role(rule(0.5), 1);
    let in_flight = Some(Requests::whole(1));
    let idle = Sample { in_flight, ..usage(1, 0.0) };
    assert_eq!(role.run(600, idle), [1]);
    let sentence = role.step(idle).reason.to_string();
    assert!(sentence.ends_with("1 replica for 1 request in flight or waiting"), "{sentence}");
}
