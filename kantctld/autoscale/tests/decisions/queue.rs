//! The rule `queue`, with the thresholds of Llumnix and of Dynamo's planner.

use crate::role::{RoleUnderPolicy, unbounded};
use autoscale::Sample;
use common::autoscale::{Fraction, Freeness, Queue, Replicas, Requests, Rule};

fn role(current: u32) -> RoleUnderPolicy {
    RoleUnderPolicy::new(unbounded(Rule::Queue(Queue::default())), current)
}

/// Replicas of which each has this freeness, part of its KV cache in use, and waiting requests.
fn engines(ready: u32, freeness: Option<i32>, kv: f64, waiting: f64) -> Sample {
    let count = f64::from(ready);
    let ready = Replicas(ready);
    Sample {
        ready,
        reporting: ready,
        freeness: freeness.map(Freeness::from_whole),
        kv_usage: Fraction::from_f64(kv * count),
        waiting: Requests::from_f64(waiting * count),
        ..Sample::default()
    }
}

#[test]
fn each_signal_alone_adds_a_replica() {
    for (sample, wanted, sentence) in [
        (engines(4, Some(9), 0.7, 0.0), 5, "mean freeness 9, below 10, over 5 s: 5 replicas"),
        (engines(4, None, 0.91, 0.0), 5, "KV cache 91 % full, above 90 %, over 5 s: 5 replicas"),
        (
            engines(4, Some(30), 0.7, 0.75),
            5,
            "0.75 requests waiting for each replica, above 0.5, over 5 s: 5 replicas",
        ),
        (
            engines(4, Some(30), 0.7, 0.0),
            4,
            "mean freeness 30, KV cache 70 % full, 0 requests waiting for each replica, within the \
             band, over 60 s: 4 replicas",
        ),
    ] {
        let decision = role(4).step(sample);
        assert_eq!((decision.wanted.0, decision.reason.to_string().as_str()), (wanted, sentence));
    }
}

#[test]
fn all_signals_must_allow_the_removal_of_a_replica() {
    for (sample, wanted) in [
        (engines(4, Some(61), 0.4, 0.1), 3),
        (engines(4, None, 0.4, 0.1), 3),
        (engines(4, Some(60), 0.4, 0.1), 4),
        (engines(4, Some(61), 0.5, 0.1), 4),
        (engines(4, Some(61), 0.4, 0.2), 4),
        (engines(2, Some(900), 0.34, 0.0), 1),
        (engines(2, Some(900), 0.36, 0.0), 2),
    ] {
        assert_eq!(role(sample.ready.0).step(sample).wanted.0, wanted, "{sample:?}");
    }
}

#[test]
fn a_short_calm_removes_no_replica() {
    let mut role = role(4);
    role.step(engines(4, None, 0.8, 0.0));
    role.now = 58;
    assert_eq!(role.step(engines(4, None, 0.3, 0.0)).wanted, Replicas(4), "0.55 in the mean");
    role.now = 60;
    assert_eq!(role.step(engines(4, None, 0.3, 0.0)).wanted, Replicas(3));
}

#[test]
fn the_last_replica_goes_when_no_request_is_left() {
    let sample = engines(1, Some(900), 0.1, 0.0);
    assert_eq!(role(1).step(sample).wanted, Replicas(1));
    let mut idle = role(1);
    let sample = Sample { in_flight: Some(Requests::ZERO), ..engines(1, Some(900), 0.0, 0.0) };
    assert_eq!(idle.run(30, sample), [1], "the grace");
    assert_eq!(idle.run(2, sample), [0]);
}

#[test]
fn after_a_change_the_number_settles() {
    let mut role = role(4);
    let full = engines(4, None, 1.0, 0.0);
    assert_eq!(role.step(full).wanted, Replicas(5));
    role.now = 14;
    let decision = role.step(Sample { ready: Replicas(5), ..full });
    assert_eq!(decision.wanted, Replicas(5));
    role.now = 20;
    assert_eq!(role.step(engines(5, None, 1.0, 0.0)).wanted, Replicas(6));
}

#[test]
fn replicas_that_start_count_as_empty_ones() {
    let mut role = role(4);
    // Three at 100 % are 75 % of four: enough when the fourth has started.
    assert_eq!(role.step(engines(3, Some(0), 1.0, 0.0)).wanted, Replicas(4));
    role.now = 30;
    assert_eq!(role.step(engines(3, Some(0), 1.0, 2.0)).wanted, Replicas(5), "a queue of six");
}

#[test]
fn engines_that_report_nothing_change_nothing() {
    let sample = Sample { ready: Replicas(4), ..Sample::default() };
    assert_eq!(role(4).step(sample).wanted, Replicas(4));
}
