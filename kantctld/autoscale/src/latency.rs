//! The rule `latency`: the replicas whose throughput, within the latency bounds, is enough for the
//! tokens that arrive.
//!
//! Source: NVIDIA Dynamo's planner, throughput-based scaling. Prefill needs requests x tokens in x
//! min(1, correction) by throughput. Decode needs requests x tokens out by the best throughput with
//! the bound by the correction, at a context of tokens in + tokens out / 2. A correction is the
//! measured latency by that of the profile. The forecast is the mean of the last interval. Ours:
//! corrections beyond a factor of ten are cut, and replicas are removed with a delay.

use crate::amount::{divide_up, narrow, product};
use crate::profile::{decode_figures, expected_itl, prefill_figures};
use crate::proposal::{Proposal, Situation};
use crate::sample::Sample;
use crate::state::State;
use common::autoscale::{
    Decode, Fraction, Latency, LatencyRule, Limit, Measure, Prefill, Replicas, RequestRate,
    Requests, Stage, TokenRate, Tokens,
};

const CORRECTION_MIN: Fraction = Fraction(100);
const CORRECTION_MAX: Fraction = Fraction::whole(10);

pub fn propose(rule: &LatencyRule, situation: Situation<'_>, state: &mut State) -> Proposal {
    let Some(traffic) = Traffic::measure(rule, situation) else {
        return situation.proposal_without_data(rule.interval_seconds);
    };
    let prefill = rule.ttft.as_ref().map(|prefill| traffic.prefill_stage(prefill));
    let decode = rule.itl.as_ref().map(|decode| traffic.decode_stage(decode));
    let replicas = [&prefill, &decode].into_iter().flatten().map(|stage| stage.replicas).max();
    let replicas = replicas.unwrap_or(situation.current);
    let (window, rate) = (rule.interval_seconds, traffic.rate);
    let measure = Measure::Latency { window, rate, prefill, decode, replicas };
    let mut proposal = Proposal { measure, wanted: replicas, limits: Vec::new() };
    let (window, now) = (rule.down_stabilisation_seconds, situation.now);
    let largest = state.maxima.record_and_largest(replicas, situation.current, window, now);
    let kept = proposal.wanted.max(largest.min(situation.current));
    proposal.limit(kept, |replicas| Limit::DownDelay { window, replicas });
    proposal
}

/// Means over the interval.
struct Traffic {
    rate: RequestRate,
    tokens_in: Tokens,
    tokens_out: Tokens,
    /// Requests in flight for each replica that is ready.
    concurrency: Option<Requests>,
    ttft: Option<Latency>,
    itl: Option<Latency>,
}

impl Traffic {
    fn measure(rule: &LatencyRule, situation: Situation<'_>) -> Option<Self> {
        let Situation { window, now, .. } = situation;
        let span = rule.interval_seconds;
        let mean = |value: fn(&Sample) -> Option<u64>| window.mean(span, now, value);
        let rate = RequestRate(mean(Sample::total_rate)?);
        let tokens_in = mean(|sample| sample.tokens_in.map(|mean| mean.0));
        let tokens_out = mean(|sample| sample.tokens_out.map(|mean| mean.0));
        // Without requests no lengths are reported, and none are needed.
        let length = |mean: Option<u64>| mean.or(rate.is_zero().then_some(0)).map(Tokens);
        let concurrency = mean(|sample| {
            let ready = u64::from(sample.ready.0).max(1);
            sample.in_flight.map(|sum| sum.0.div_ceil(ready))
        });
        Some(Self {
            rate,
            tokens_in: length(tokens_in)?,
            tokens_out: length(tokens_out)?,
            concurrency: concurrency.map(Requests),
            ttft: mean(|sample| sample.ttft.map(|mean| mean.0)).map(Latency),
            itl: mean(|sample| sample.itl.map(|mean| mean.0)).map(Latency),
        })
    }

    fn prefill_stage(&self, prefill: &Prefill) -> Stage {
        let figures = prefill_figures(prefill, self.tokens_in);
        // A cached prefix makes prefill faster than in the profile. Slower is it by queueing alone,
        // which more replicas than the tokens need would not end.
        let correction = correction(self.ttft, figures.ttft).min(Fraction::WHOLE);
        let tokens = product([self.rate.0, self.tokens_in.0, correction.0]);
        let bound = prefill.target_ms;
        Stage {
            tokens: self.tokens_in,
            capacity: figures.capacity,
            correction,
            bound,
            in_reach: figures.ttft <= bound,
            replicas: replicas_needed(tokens, figures.capacity),
        }
    }

    fn decode_stage(&self, decode: &Decode) -> Stage {
        let context = Tokens(self.tokens_in.0.saturating_add(self.tokens_out.0 / 2));
        let expected = self.concurrency.map(|number| expected_itl(decode, context, number));
        let correction =
            expected.map_or(Fraction::WHOLE, |expected| correction(self.itl, expected));
        let corrected = product([decode.target_ms.0, 1000]) / u128::from(correction.0.max(1));
        let figures = decode_figures(decode, context, Latency(narrow(corrected)));
        let tokens = product([self.rate.0, self.tokens_out.0, 1000]);
        Stage {
            tokens: self.tokens_out,
            capacity: figures.capacity,
            correction,
            bound: decode.target_ms,
            in_reach: figures.in_reach,
            replicas: replicas_needed(tokens, figures.capacity),
        }
    }
}

/// The measured latency by the expected one; 1 if none was measured.
fn correction(measured: Option<Latency>, expected: Latency) -> Fraction {
    let factor = measured.and_then(|measured| {
        product([measured.0, 1000]).checked_div(expected.0.into()).map(narrow)
    });
    factor.map_or(Fraction::WHOLE, |factor| Fraction(factor).clamp(CORRECTION_MIN, CORRECTION_MAX))
}

/// The replicas for a product of rate, tokens and correction, each in thousandths.
fn replicas_needed(tokens: u128, capacity: TokenRate) -> Replicas {
    divide_up(tokens, product([capacity.0, 1_000_000])).unwrap_or(Replicas::ZERO)
}
