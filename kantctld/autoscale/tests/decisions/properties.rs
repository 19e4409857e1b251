//! Properties of every decision, for any rule, load and history.

use crate::role::seconds;
use autoscale::{Decision, Moment, Sample, State, Window, decide};
use common::autoscale::{
    Fraction, Freeness, Latency, LatencyRule, Level, Metric, PerReplica, Policy, Prefill,
    PrefillPoint, Queue, Replicas, RequestRate, Requests, Rule, TokenRate, Tokens, Utilisation,
};
use common::time::Span;
use proptest::prelude::*;

/// Decisions in one history.
const STEPS_MAX: usize = 40;

fn rules() -> impl Strategy<Value = Rule> {
    let per_replica = (1..5000_u64, 1..=1000_u64, 0..200_u64);
    let with = |(target, utilisation, delay): (u64, u64, u64)| PerReplica {
        utilisation: Fraction(utilisation),
        down_delay_seconds: Span::from_seconds(delay),
        ..PerReplica::new(target)
    };
    let concurrency = per_replica.clone().prop_map(move |values| {
        let PerReplica { target, utilisation, down_delay_seconds, .. } = with(values);
        let base = PerReplica::new(Requests(target));
        Rule::Concurrency(PerReplica { utilisation, down_delay_seconds, ..base })
    });
    let rps = per_replica.prop_map(move |values| {
        let PerReplica { target, utilisation, down_delay_seconds, .. } = with(values);
        let base = PerReplica::new(RequestRate(target));
        Rule::Rps(PerReplica { utilisation, down_delay_seconds, ..base })
    });
    let metric = prop_oneof![
        Just(Metric::InFlight),
        Just(Metric::Rps),
        Just(Metric::Waiting),
        Just(Metric::KvUsage)
    ];
    let utilisation = (metric, 1..=1000_u64, 0..400_u64).prop_map(|(metric, target, window)| {
        let down_stabilisation_seconds = Span::from_seconds(window);
        let base = Utilisation::new(metric, Level(target));
        Rule::Utilisation(Utilisation { down_stabilisation_seconds, ..base })
    });
    let queue =
        (1..4_u32).prop_map(|step| Rule::Queue(Queue { step: Replicas(step), ..Queue::default() }));
    let latency = (1..50_u32, 0..400_u64).prop_map(|(rate, window)| {
        let point = PrefillPoint {
            tokens_in: Tokens::whole(1000),
            ttft_ms: Latency::whole(200),
            tokens_per_second: TokenRate::whole(rate * 100),
        };
        Rule::Latency(LatencyRule {
            ttft: Some(Prefill { target_ms: Latency::whole(500), profile: vec![point] }),
            itl: None,
            interval_seconds: Span::from_seconds(180),
            down_stabilisation_seconds: Span::from_seconds(window),
        })
    });
    prop_oneof![Just(Rule::Fixed), concurrency, rps, utilisation, queue, latency]
}

fn policies() -> impl Strategy<Value = Policy> {
    (0..10_u32, 1..60_u32, rules(), 0..60_u64).prop_map(|(min, more, rule, grace)| Policy {
        min: Replicas(min),
        max: Replicas(min + more),
        rule,
        schedule: Vec::new(),
        zero_grace: Span::from_seconds(grace),
    })
}

/// The load of a whole role, which its replicas share.
fn samples() -> impl Strategy<Value = Sample> {
    let held = prop_oneof![3 => Just(0), 1 => 0..4000_u64];
    let load = prop_oneof![
        8 => Just(0),
        8 => 0..2000_u64,
        16 => 0..200_000_u64,
        // A router or an engine that reports nonsense.
        1 => any::<u64>(),
    ];
    (0..40_u32, 0..3_u32, held, load, proptest::bool::weighted(0.8)).prop_map(
        |(ready, silent, held, load, reports)| {
            let value = reports.then_some(load);
            Sample {
                ready: Replicas(ready),
                reporting: Replicas(ready.saturating_sub(silent)),
                held: Requests(held),
                in_flight: value.map(Requests),
                rate: value.map(RequestRate),
                waiting: value.map(|load| Requests(load / 4)),
                kv_usage: value.map(|load| Fraction((load / 8).min(u64::from(ready) * 1000))),
                tokens_in: Some(Tokens::whole(1000)),
                tokens_out: Some(Tokens::whole(200)),
                ttft: Some(Latency::whole(100)),
                freeness: value.map(|load| Freeness(200_000_i64.wrapping_sub(load as i64))),
                ..Sample::default()
            }
        },
    )
}

/// A step: the pause before it, and the sample.
type Step = (u64, Sample);

fn histories() -> impl Strategy<Value = Vec<Step>> {
    // Longer pauses than a stable window end a burst.
    proptest::collection::vec((1..90_u64, samples()), 1..STEPS_MAX)
}

/// What holds before each decision, and the decision's number before the bounds.
fn play(policy: &Policy, history: &[Step], mut check: impl FnMut(&Checked<'_>)) {
    let (mut window, mut state) = (Window::default(), State::default());
    let (mut current, mut now) = (policy.min, 0);
    for (pause, sample) in history {
        now += pause;
        window.push(Sample { at: seconds(now), ..*sample });
        let moment = Moment::utc(seconds(now));
        let decision = decide(policy, &window, current, &state, moment);
        check(&Checked {
            policy,
            window: &window,
            current,
            state: &state,
            moment,
            decision: &decision,
        });
        (current, state) = (decision.wanted, decision.state);
    }
}

struct Checked<'a> {
    policy: &'a Policy,
    window: &'a Window,
    current: Replicas,
    state: &'a State,
    moment: Moment,
    decision: &'a Decision,
}

impl Checked<'_> {
    /// The number for a load that is the same in all samples.
    fn with_constant_load(&self, load: u64) -> Replicas {
        let samples = self.window.samples().map(|sample| Sample {
            held: Requests::ZERO,
            in_flight: Some(Requests(load)),
            rate: Some(RequestRate(load)),
            waiting: Some(Requests(load)),
            kv_usage: Some(Fraction(load)),
            freeness: Some(Freeness(200_000 - load as i64)),
            ..*sample
        });
        let window: Window = samples.collect();
        decide(self.policy, &window, self.current, self.state, self.moment).wanted
    }
}

fn is_per_replica(policy: &Policy) -> bool {
    matches!(policy.rule, Rule::Concurrency(_) | Rule::Rps(_))
}

proptest! {
    #[test]
    fn bounds_always_hold(policy in policies(), history in histories()) {
        play(&policy, &history, |step| {
            let wanted = step.decision.wanted;
            assert!(policy.min <= wanted && wanted <= policy.max, "{wanted}");
        });
    }

    #[test]
    fn a_decision_depends_on_its_arguments_only(policy in policies(), history in histories()) {
        play(&policy, &history, |step| {
            let Checked { policy, window, current, state, moment, decision } = step;
            assert_eq!(decide(policy, window, *current, state, *moment), **decision);
        });
    }

    #[test]
    fn no_replica_is_removed_in_panic(policy in policies(), history in histories()) {
        play(&policy, &history, |step| {
            if is_per_replica(&policy) && step.decision.state.panic.is_some() {
                assert!(step.decision.wanted >= step.current.min(policy.max));
            }
        });
    }

    #[test]
    fn at_most_half_is_removed_in_one_step(policy in policies(), history in histories()) {
        play(&policy, &history, |step| {
            if is_per_replica(&policy) {
                assert!(step.decision.wanted.0 >= step.current.0 / 2);
            }
        });
    }

    #[test]
    fn a_higher_load_never_gets_fewer_replicas(
        policy in policies(),
        history in histories(),
        load in 0..100_000_u64,
        more in 0..100_000_u64,
    ) {
        play(&policy, &history, |step| {
            let (low, high) =
                (step.with_constant_load(load), step.with_constant_load(load + more));
            assert!(low <= high, "{load} {more}: {low} {high}");
        });
    }

    #[test]
    fn the_last_replica_is_kept_while_requests_are_held(
        policy in policies(),
        history in histories(),
    ) {
        play(&policy, &history, |step| {
            let last = step.window.samples().next_back();
            let is_held = last.is_some_and(|last| !last.held.is_zero());
            assert!(!is_held || !step.decision.wanted.is_zero());
        });
    }

    #[test]
    fn a_decision_is_read_as_it_was_written(policy in policies(), history in histories()) {
        play(&policy, &history, |step| {
            let packed = rmp_serde::to_vec_named(step.decision).unwrap();
            let read: Decision = rmp_serde::from_slice(&packed).unwrap();
            assert_eq!(read, *step.decision);
        });
    }

    #[test]
    fn the_state_stays_small(policy in policies(), history in histories()) {
        play(&policy, &history, |step| {
            let text = serde_json::to_string(&step.decision.state).unwrap();
            assert!(text.len() < 4096, "{}", text.len());
        });
    }
}
