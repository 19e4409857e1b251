//! The rule `queue`: a step up when the engines' memory or queues leave a band, and a step down
//! when all signals that are reported allow it.
//!
//! Sources: Llumnix (OSDI 2024) for the band of the mean freeness; NVIDIA Dynamo's planner,
//! load-based scaling, for KV cache and queue. Ours: replicas that start count as empty ones, so
//! that a start of minutes is not answered by ever more of them; the signals for a step down are
//! averaged over a longer time; and there is none that would bring the others above the middle of
//! the band.

use crate::amount::divide_up;
use crate::proposal::{Proposal, Situation};
use crate::state::State;
use common::autoscale::{
    Fraction, Freeness, Limit, Measure, Queue, QueueSignal, Replicas, Requests,
};
use common::time::Span;

pub fn propose(rule: &Queue, situation: Situation<'_>, state: &State) -> Proposal {
    let Situation { current, now, .. } = situation;
    let mut window = rule.window_seconds;
    let Some(recent) = Signals::measure(window, situation) else {
        return situation.proposal_without_data(window);
    };
    let (signal, wanted) = if let Some(signal) = recent.scale_up_signal(rule, current) {
        (signal, current.saturating_add(rule.step))
    } else {
        window = rule.down_window_seconds;
        let signals = Signals::measure(window, situation).unwrap_or(recent);
        let fewer = signals.replicas_after_scale_down(rule, current);
        (signals.steady_signal(fewer < current, current), fewer)
    };
    let measure = Measure::Queue { signal, window, replicas: wanted };
    let mut proposal = Proposal { measure, wanted, limits: Vec::new() };
    let window = rule.settle_seconds;
    if state.last_change().is_some_and(|last| now.since(last) < window) {
        proposal.limit(current, |replicas| Limit::Settling { window, replicas });
    }
    proposal
}

/// Means over a window.
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
    fn measure(span: Span, situation: Situation<'_>) -> Option<Self> {
        let Situation { window, now, .. } = situation;
        let mean = |value: fn(&crate::Sample) -> Option<u64>| window.mean(span, now, value);
        let freeness = window.signed_mean(span, now, |sample| sample.freeness.map(|mean| mean.0));
        let signals = Self {
            freeness: freeness.map(Freeness),
            kv: mean(crate::Sample::total_kv),
            waiting: mean(crate::Sample::total_waiting),
            in_flight: mean(crate::Sample::total_in_flight),
            ready: situation.ready_replicas(span),
        };
        let is_known =
            signals.freeness.is_some() || signals.kv.is_some() || signals.waiting.is_some();
        is_known.then_some(signals)
    }

    /// The mean for each replica of a sum, with those that start.
    fn mean_per_replica(&self, sum: Option<u64>, current: Replicas) -> Option<u64> {
        let all = self.ready.max(current).max(Replicas::ONE);
        sum.map(|sum| sum.div_ceil(all.0.into()))
    }

    /// The signal that asks for more replicas.
    fn scale_up_signal(&self, rule: &Queue, current: Replicas) -> Option<QueueSignal> {
        // The freeness of a replica that starts is not known, and a low one has been answered.
        let freeness = self.freeness.filter(|_| self.ready >= current);
        let kv = self.mean_per_replica(self.kv, current).map(Fraction);
        let waiting = self.mean_per_replica(self.waiting, current).map(Requests);
        let Queue { freeness_min: min, kv_max, waiting_max, .. } = *rule;
        let low = freeness.filter(|mean| *mean < min);
        let low = low.map(|mean| QueueSignal::FreenessLow { mean, min });
        let full = kv.filter(|mean| *mean > kv_max);
        let full = full.map(|mean| QueueSignal::KvHigh { mean, max: kv_max });
        let long = waiting.filter(|mean| *mean > waiting_max);
        let long = long.map(|mean| QueueSignal::WaitingHigh { mean, max: waiting_max });
        low.or(full).or(long)
    }

    /// The signals when none asks for more replicas.
    fn steady_signal(&self, is_below: bool, current: Replicas) -> QueueSignal {
        let freeness = self.freeness;
        let kv = self.mean_per_replica(self.kv, current).map(Fraction);
        let waiting = self.mean_per_replica(self.waiting, current).map(Requests);
        if is_below {
            QueueSignal::Idle { freeness, kv, waiting }
        } else {
            QueueSignal::Within { freeness, kv, waiting }
        }
    }

    /// The number after a step down, or the same if a signal forbids it. Every known signal must
    /// allow it.
    fn replicas_after_scale_down(&self, rule: &Queue, current: Replicas) -> Replicas {
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
        let middle = rule.kv_min.0.midpoint(rule.kv_max.0);
        let for_kv = self.kv.map_or(Replicas::ONE, |sum| staying(sum, middle));
        let is_idle = self.in_flight.map_or_else(
            || self.kv.unwrap_or(0) == 0 && self.waiting.unwrap_or(0) == 0,
            |load| load == 0,
        );
        let least = if is_idle { Replicas::ZERO } else { for_kv };
        fewer.max(least).min(current)
    }
}
