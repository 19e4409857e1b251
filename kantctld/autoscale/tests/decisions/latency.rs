//! The rule `latency`, with numbers worked out by the formulas of Dynamo's planner.

use crate::role::{RoleUnderPolicy, policy};
use autoscale::{Decision, Sample};
use common::autoscale::{Latency, Replicas, RequestRate, Requests, Tokens};

const PREFILL: &str = "max = 99
    [latency.ttft]
    target_ms = 500
    profile = [
        { tokens_in = 1000, ttft_ms = 100, tokens_per_second = 10000 },
        { tokens_in = 3000, ttft_ms = 400, tokens_per_second = 8000 },
    ]";
const DECODE: &str = "max = 99
    [latency.itl]
    target_ms = 20
    [[latency.itl.profile]]
    context = 1000
    points = [
        { concurrency = 1, itl_ms = 10, tokens_per_second = 100 },
        { concurrency = 10, itl_ms = 20, tokens_per_second = 500 },
        { concurrency = 40, itl_ms = 60, tokens_per_second = 700 },
    ]";

fn traffic(rate: f64, tokens_in: u32, tokens_out: u32) -> Sample {
    Sample {
        ready: Replicas(4),
        reporting: Replicas(4),
        in_flight: Some(Requests::whole(40)),
        rate: RequestRate::from_f64(rate),
        tokens_in: Some(Tokens::whole(tokens_in)),
        tokens_out: Some(Tokens::whole(tokens_out)),
        ..Sample::default()
    }
}

fn decision(text: &str, sample: Sample) -> Decision {
    RoleUnderPolicy::new(policy(text), 1).step(sample)
}

#[test]
fn prefill_is_the_tokens_that_arrive_by_the_throughput() {
    // 20 x 2000 tokens a second by 9000.
    let decision = decision(PREFILL, traffic(20.0, 2000, 0));
    assert_eq!(
        decision.reason.to_string(),
        "20 requests per second over 180 s; prefill: 2000 tokens each, 9000 tokens per second for \
         each replica, 5 replicas: 5 replicas"
    );
}

#[test]
fn a_cached_prefix_lowers_the_need_for_prefill_and_a_queue_does_not_raise_it() {
    for (ttft, replicas) in [(125, 3), (250, 5), (2500, 5)] {
        let sample = Sample { ttft: Some(Latency::whole(ttft)), ..traffic(20.0, 2000, 0) };
        assert_eq!(decision(PREFILL, sample).wanted, Replicas(replicas), "{ttft}");
    }
}

#[test]
fn decode_is_the_tokens_out_by_the_best_throughput_within_the_bound() {
    // The context is 900 + 200 / 2. 20 x 200 tokens a second by 500.
    assert_eq!(decision(DECODE, traffic(20.0, 900, 200)).wanted, Replicas(8));
}

#[test]
fn a_latency_above_the_profile_tightens_the_bound() {
    // Ten requests on each replica should have 20 ms. Twice that: the bound is 10 ms, which the
    // profile reaches with 100 tokens per second.
    let sample = Sample { itl: Some(Latency::whole(40)), ..traffic(20.0, 900, 200) };
    let decision = decision(DECODE, sample);
    assert_eq!(decision.wanted, Replicas(40));
    let text = decision.reason.to_string();
    assert!(text.contains("100 tokens per second for each replica, measured 2 of"), "{text}");
}

#[test]
fn a_bound_that_the_profile_does_not_reach_is_named() {
    let sample = Sample { itl: Some(Latency::whole(60)), ..traffic(20.0, 900, 200) };
    let text = decision(DECODE, sample).reason.to_string();
    assert!(text.contains("the bound of 20 ms is out of reach"), "{text}");
}

#[test]
fn a_role_that_does_both_gets_the_larger_number() {
    let both = format!("{PREFILL}\n{}", DECODE.trim_start_matches("max = 99"));
    assert_eq!(decision(&both, traffic(20.0, 900, 200)).wanted, Replicas(8));
    assert_eq!(decision(&both, traffic(20.0, 3000, 1)).wanted, Replicas(8));
    assert_eq!(decision(&both, traffic(20.0, 3000, 10)).wanted, Replicas(8));
}

#[test]
fn replicas_are_removed_after_an_interval() {
    let mut role = RoleUnderPolicy::new(policy(PREFILL), 5);
    assert_eq!(role.run(180, traffic(20.0, 2000, 0)), [5]);
    assert_eq!(role.run(178, traffic(0.0, 2000, 0)), [5]);
    let numbers = role.run(184, traffic(0.0, 2000, 0));
    assert_eq!((numbers.first(), numbers.last()), (Some(&5), Some(&1)), "{numbers:?}");
    assert_eq!(role.run(60, traffic(0.0, 2000, 0)).last(), Some(&1), "requests are in flight");
    let idle = Sample { in_flight: Some(Requests::ZERO), ..traffic(0.0, 2000, 0) };
    assert_eq!(role.run(60, idle).last(), Some(&0));
}

#[test]
fn without_lengths_nothing_changes() {
    let sample = Sample { tokens_in: None, ..traffic(20.0, 2000, 0) };
    assert_eq!(decision(PREFILL, sample).wanted, Replicas(1));
}
