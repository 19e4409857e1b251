//! The rule `queue`: a step up when the engines' memory or queues leave a band, and a step down
//! when all signals that are reported allow it.
//!
//! Sources: Llumnix (OSDI 2024) for the band of the mean freeness; NVIDIA Dynamo's planner,
//! load-based scaling, for KV cache and queue. Ours: replicas that start count as empty ones, so
//! that a start of minutes is not answered by ever more of them; and no step down that would bring
//! the others above the band.

use crate::proposal::{Proposal, Situation, divide_up};
use crate::state::State;
use common::autoscale::{
    Fraction, Freeness, Limit, Measure, Queue, QueueSignal, Replicas, Requests,
};

pub fn propose(rule: &Queue, situation: Situation<'_>, state: &State) -> Proposal {
    let Situation { current, now, .. } = situation;
    let window = rule.window_seconds;
    let Some(signals) = Signals::measure(rule, situation) else {
        return situation.without_data(window);
    };
    let (signal, wanted) = signals.judge(rule, current);
    let measure = Measure::Queue { signal, window, replicas: wanted };
    let mut proposal = Proposal { measure, wanted, limits: Vec::new() };
    let window = rule.settle_seconds;
    if state.last_change().is_some_and(|last| now.since(last) < window) {
        proposal.limit(current, |replicas| Limit::Settling { window, replicas });
    }
    proposal
}

/// Means over the window.
struct Signals {
    freeness: Option<Freeness>,
    /// Sum over the role.
    kv: Option<u64>,
    /// Sum over the role.
    waiting: Option<u64>,
    in_flight: Option<u64>,
    ready: Replicas,
}

impl Signals {
    fn measure(rule: &Queue, situation: Situation<'_>) -> Option<Self> {
        let Situation { window, now, .. } = situation;
        let span = rule.window_seconds;
        let mean = |value: fn(&crate::Sample) -> Option<u64>| window.mean(span, now, value);
        let freeness = window.signed_mean(span, now, |sample| sample.freeness.map(|mean| mean.0));
        let signals = Self {
            freeness: freeness.map(Freeness),
            kv: mean(crate::Sample::total_kv),
            waiting: mean(crate::Sample::total_waiting),
            in_flight: mean(crate::Sample::load),
            ready: situation.ready(span),
        };
        let is_known =
            signals.freeness.is_some() || signals.kv.is_some() || signals.waiting.is_some();
        is_known.then_some(signals)
    }

    fn judge(&self, rule: &Queue, current: Replicas) -> (QueueSignal, Replicas) {
        let all = self.ready.max(current).max(Replicas::ONE);
        let share = |sum: Option<u64>, replicas: Replicas| {
            sum.map(|sum| sum.div_ceil(u64::from(replicas.0.max(1))))
        };
        let (kv, waiting) = (share(self.kv, all), share(self.waiting, all));
        // The freeness of a replica that starts is not known, and a low one has been answered.
        let freeness = self.freeness.filter(|_| self.ready >= current);
        let up = current.saturating_add(rule.step);
        match (freeness, kv, waiting) {
            (Some(mean), ..) if mean < rule.freeness_min => {
                (QueueSignal::FreenessLow { mean, min: rule.freeness_min }, up)
            }
            (_, Some(mean), _) if mean > rule.kv_max.0 => {
                (QueueSignal::KvHigh { mean: Fraction(mean), max: rule.kv_max }, up)
            }
            (_, _, Some(mean)) if mean > rule.waiting_max.0 => {
                (QueueSignal::WaitingHigh { mean: Requests(mean), max: rule.waiting_max }, up)
            }
            _ => {
                let (freeness, kv, waiting) =
                    (self.freeness, kv.map(Fraction), waiting.map(Requests));
                let least = self.fewer(rule, current);
                if least < current {
                    (QueueSignal::Idle { freeness, kv, waiting }, least)
                } else {
                    (QueueSignal::Within { freeness, kv, waiting }, current)
                }
            }
        }
    }

    /// The number after a step down, or the same if a signal forbids it. Every known signal must
    /// allow it.
    fn fewer(&self, rule: &Queue, current: Replicas) -> Replicas {
        let staying = |sum: u64, most: u64| {
            divide_up(sum.into(), most.into()).unwrap_or(current).max(Replicas::ONE)
        };
        let is_free = self.freeness.is_none_or(|mean| mean > rule.freeness_max);
        let ready = u64::from(self.ready.0);
        let is_empty = self.kv.is_none_or(|sum| sum < ready.saturating_mul(rule.kv_min.0));
        let is_short = self
            .waiting
            .is_none_or(|sum| sum == 0 || sum < ready.saturating_mul(rule.waiting_min.0));
        if !is_free || !is_empty && self.kv != Some(0) || !is_short || self.ready < current {
            return current;
        }
        let fewer = current.saturating_sub(rule.step);
        let for_kv = self.kv.map_or(Replicas::ONE, |sum| staying(sum, rule.kv_max.0));
        let is_idle = self.in_flight.map_or_else(
            || self.kv.unwrap_or(0) == 0 && self.waiting.unwrap_or(0) == 0,
            |load| load == 0,
        );
        let least = if is_idle { Replicas::ZERO } else { for_kv };
        fewer.max(least).min(current)
    }
}
