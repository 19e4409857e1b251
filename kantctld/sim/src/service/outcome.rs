//! The result of a replay: what a policy cost, and how long requests waited.

use super::fleet::Lifetime;
use super::setup::Setup;
use common::autoscale::Replicas;
use common::time::{Span, Time};
use serde::Serialize;

/// A change of the number of replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Milliseconds since the start of the trace.
    pub at: Span,
    pub from: Replicas,
    pub to: Replicas,
    /// The sentence of the decision.
    pub reason: String,
}

/// The result of a replay. All figures are for the requests that arrived, and the time that passed,
/// from the begin of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub policy: String,
    pub requests: usize,
    /// Requests that waited for longer than the bound.
    pub misses: usize,
    /// Part of all requests.
    pub miss_fraction: f64,
    pub wait_mean_seconds: f64,
    pub wait_p99_seconds: f64,
    pub wait_max_seconds: f64,
    /// From the start of each replica to its end.
    pub gpu_hours: f64,
    /// Part of the places of all replicas' time in which requests were worked on.
    pub busy_fraction: f64,
    /// Decisions that changed the number of replicas.
    pub changes: usize,
    /// Replicas that were started.
    pub starts: usize,
    /// The most replicas that were wanted.
    pub replicas_max: Replicas,
    /// For a file of decisions; not part of the metrics.
    #[serde(skip)]
    pub steps: Vec<Step>,
}

/// What a replay counts.
#[derive(Debug, Default)]
pub struct Tally {
    pub waits: Vec<Span>,
    pub service: Span,
    pub steps: Vec<Step>,
    pub replicas_max: Replicas,
}

impl Tally {
    /// The figures from a time on, up to the end of the last request.
    pub fn outcome(
        self,
        policy: &str,
        setup: &Setup,
        lifetimes: impl Iterator<Item = Lifetime>,
        from: Time,
    ) -> Outcome {
        let Self { mut waits, service, steps, replicas_max } = self;
        waits.sort_unstable();
        let requests = waits.len();
        let misses = waits.iter().filter(|wait| **wait > setup.wait_bound).count();
        let sum: u128 = waits.iter().map(|wait| u128::from(wait.0)).sum();
        let lived: u64 = lifetimes.map(|life| life.end.since(life.start.max(from)).0).sum();
        let up = steps.iter().map(|step| step.to.saturating_sub(step.from).0 as usize);
        Outcome {
            policy: policy.to_owned(),
            requests,
            misses,
            miss_fraction: ratio_or_zero(misses as f64, requests as f64),
            wait_mean_seconds: ratio_or_zero(sum as f64 / 1000.0, requests as f64),
            wait_p99_seconds: percentile(&waits, 99),
            wait_max_seconds: percentile(&waits, 100),
            gpu_hours: lived as f64 / 3_600_000.0 * f64::from(setup.gpus.0),
            busy_fraction: ratio_or_zero(
                service.0 as f64,
                lived as f64 * f64::from(setup.concurrency),
            ),
            changes: steps.len(),
            starts: up.sum(),
            replicas_max,
            steps,
        }
    }
}

/// A part of a whole; zero of nothing.
fn ratio_or_zero(value: f64, whole: f64) -> f64 {
    if whole > 0.0 { value / whole } else { 0.0 }
}

/// The wait, in seconds, that this percentage of the requests does not exceed (nearest rank). The
/// waits are sorted.
fn percentile(waits: &[Span], percent: usize) -> f64 {
    let rank = (waits.len() * percent).div_ceil(100);
    let wait = rank.checked_sub(1).and_then(|at| waits.get(at)).copied().unwrap_or_default();
    wait.0 as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_a_worked_example() {
        let at = |seconds| Time(0) + Span::from_seconds(seconds);
        let lifetimes = [
            Lifetime { start: at(0), end: at(7200) },
            Lifetime { start: at(5400), end: at(9000) },
            Lifetime { start: at(0), end: at(1800) },
        ];
        let waits = [0, 6, 0, 2].map(Span::from_seconds).to_vec();
        let step = Step { at: Span(0), from: Replicas(1), to: Replicas(3), reason: String::new() };
        let service = Span::from_minutes(96);
        let tally = Tally { waits, service, steps: vec![step], replicas_max: Replicas(3) };
        let outcome = tally.outcome("fixed", &Setup::default(), lifetimes.into_iter(), at(3600));
        assert_eq!((outcome.requests, outcome.misses), (4, 1));
        assert_eq!((outcome.wait_mean_seconds, outcome.wait_p99_seconds), (2.0, 6.0));
        assert_eq!(outcome.gpu_hours, 2.0, "an hour each, from the second hour on");
        assert_eq!(outcome.busy_fraction, 0.1);
        assert_eq!((outcome.starts, outcome.replicas_max), (2, Replicas(3)));
    }
}
