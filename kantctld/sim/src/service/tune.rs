//! The choice of a policy's target utilisation from recorded requests: the value that costs the
//! fewest GPU-hours while few requests wait for too long.

use super::outcome::Outcome;
use super::replay::{Plan, replay};
use super::setup::Setup;
use common::autoscale::{Bounds, Fraction, Level, Policy, Replicas, Rule};
use common::time::Span;
use serde::Serialize;
use trace::Request;

/// The values that are tried first are multiples of this.
const COARSE_STEP: u64 = 50;
/// The distance of those around the best.
const FINE_STEP: u64 = 10;

/// The most misses that are accepted, as a part of all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Goal(pub Fraction);

/// What is tuned, and on which part of the trace.
#[derive(Debug, Clone, Copy)]
pub struct Tuning<'a> {
    /// By arrival. Those before `split` are for the choice.
    pub requests: &'a [Request],
    pub setup: &'a Setup,
    pub policy: &'a Policy,
    pub split: Span,
    pub goal: Goal,
}

/// A value that was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    pub utilisation: Fraction,
    pub policy: Policy,
    /// On the requests that it was chosen on.
    pub chosen_on: Outcome,
    /// Whether it met the goal there.
    pub met: bool,
    /// Replays that the choice took.
    pub tried: usize,
}

/// Why nothing is tuned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TuneError {
    #[error(
        "failed to tune the policy: it has no target utilisation; give one with concurrency, rps, \
         or utilisation of kv_usage or gpu_usage"
    )]
    NoUtilisation,
    #[error("failed to tune the policy: no request arrives in the first half of the trace")]
    NoRequests,
}

/// A value that was tried.
#[derive(Debug, Clone)]
struct Trial {
    utilisation: Fraction,
    policy: Policy,
    outcome: Outcome,
}

/// Chooses the target utilisation by replays of the requests before `split` only. Each value from
/// 5 % to 100 % in steps of 5 % is tried, then those around the best in steps of 1 %. The best has
/// the fewest GPU-hours of those that meet the goal, or the fewest misses if none does.
///
/// # Errors
/// [`TuneError`].
pub fn tune(tuning: &Tuning<'_>) -> Result<Tuned, TuneError> {
    let count = tuning.requests.partition_point(|request| request.arrival < tuning.split);
    let requests = tuning.requests.get(..count).unwrap_or_default();
    let attempt = |utilisation: Fraction| attempt(tuning, requests, utilisation);
    let mut trials = (COARSE_STEP..=1000)
        .step_by(COARSE_STEP as usize)
        .map(|value| attempt(Fraction(value)))
        .collect::<Result<Vec<Trial>, TuneError>>()?;
    let best = best_trial(&trials, tuning.goal).ok_or(TuneError::NoRequests)?.utilisation.0;
    let around = (best + FINE_STEP - COARSE_STEP..best + COARSE_STEP).step_by(FINE_STEP as usize);
    for value in around.filter(|value| *value != best && (1..=1000).contains(value)) {
        trials.push(attempt(Fraction(value))?);
    }
    let tried = trials.len();
    let best = best_trial(&trials, tuning.goal).ok_or(TuneError::NoRequests)?.clone();
    let met = tuning.goal.is_met(&best.outcome);
    let Trial { utilisation, policy, outcome: chosen_on } = best;
    Ok(Tuned { utilisation, policy, chosen_on, met, tried })
}

fn attempt(
    tuning: &Tuning<'_>,
    requests: &[Request],
    utilisation: Fraction,
) -> Result<Trial, TuneError> {
    if requests.is_empty() {
        return Err(TuneError::NoRequests);
    }
    let policy = with_utilisation(tuning.policy, utilisation).ok_or(TuneError::NoUtilisation)?;
    let name = utilisation.percent();
    let (name, setup, measured_from) = (name.as_str(), tuning.setup, Span(0));
    let outcome = replay(&Plan { requests, setup, name, policy: &policy, measured_from });
    Ok(Trial { utilisation, policy, outcome })
}

/// The policy with another target utilisation; `None` if it has none.
fn with_utilisation(policy: &Policy, utilisation: Fraction) -> Option<Policy> {
    let mut policy = policy.clone();
    match &mut policy.rule {
        Rule::Concurrency(rule) => rule.utilisation = utilisation,
        Rule::Rps(rule) => rule.utilisation = utilisation,
        Rule::Utilisation(rule) if rule.metric.is_fraction() => rule.target = Level(utilisation.0),
        _ => return None,
    }
    Some(policy)
}

fn best_trial(trials: &[Trial], goal: Goal) -> Option<&Trial> {
    let met = trials.iter().filter(|trial| goal.is_met(&trial.outcome));
    let cheapest = met.min_by(|a, b| a.outcome.gpu_hours.total_cmp(&b.outcome.gpu_hours));
    cheapest.or_else(|| trials.iter().min_by_key(|trial| trial.outcome.misses))
}

impl Goal {
    #[must_use]
    pub fn is_met(self, outcome: &Outcome) -> bool {
        outcome.misses as u128 * 1000 <= outcome.requests as u128 * u128::from(self.0.0)
    }
}

/// The smallest fixed number of replicas, up to `max`, that meets the goal on the measured part: a
/// bound that is chosen with hindsight, for comparison. Without such a number, `max` itself.
#[must_use]
pub fn least_fixed(
    requests: &[Request],
    setup: &Setup,
    goal: Goal,
    max: Replicas,
    measured_from: Span,
) -> Outcome {
    let replay_fixed = |count: u32| {
        let replicas = Replicas(count);
        let policy = Policy::new(Bounds { min: replicas, max: replicas }, Rule::Fixed);
        let setup = Setup { initial: replicas, ..*setup };
        let name = format!("fixed {count}");
        let plan = Plan { requests, setup: &setup, name: &name, policy: &policy, measured_from };
        replay(&plan)
    };
    // More replicas never make a request wait for longer, so halving finds the least.
    let (mut low, mut high) = (1, max.0.max(1));
    while low < high {
        let middle = low.midpoint(high);
        if goal.is_met(&replay_fixed(middle)) { high = middle } else { low = middle + 1 }
    }
    replay_fixed(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request every second that takes 8 s: 8 in flight, on replicas with 4 places.
    fn requests() -> Vec<Request> {
        let request = |second: u64| Request {
            arrival: Span::from_seconds(second),
            service: Span::from_seconds(8),
            tokens_in: None,
            tokens_out: None,
        };
        (0..4000).map(request).collect()
    }

    fn setup() -> Setup {
        let start_delay = Span::from_seconds(10);
        Setup { concurrency: 4, initial: Replicas(2), start_delay, ..Setup::default() }
    }

    fn tuned(text: &str) -> Result<Tuned, TuneError> {
        let policy: Policy = serde_json::from_str(text).unwrap();
        let (requests, setup) = (requests(), setup());
        let (split, goal) = (Span::from_seconds(2000), Goal(Fraction(10)));
        tune(&Tuning { requests: &requests, setup: &setup, policy: &policy, split, goal })
    }

    #[test]
    fn a_steady_load_allows_a_high_utilisation() {
        let tuned = tuned(r#"{"min":1,"max":20,"concurrency":{"target":4}}"#).unwrap();
        assert!(tuned.met && tuned.chosen_on.misses <= 20, "1 % of 2000: {tuned:?}");
        assert!(tuned.utilisation > Fraction(900), "{}", tuned.utilisation);
        assert_eq!(tuned.chosen_on.requests, 2000, "the second half is not looked at");
        assert!(tuned.tried <= 28, "{}", tuned.tried);
        let Rule::Concurrency(rule) = tuned.policy.rule else { panic!("the same rule") };
        assert_eq!(rule.utilisation, tuned.utilisation);
    }

    #[test]
    fn a_policy_without_a_target_utilisation_is_refused() {
        for text in [
            r#"{"max":20,"queue":{}}"#,
            r#"{"max":20,"utilisation":{"metric":"in_flight","target":3}}"#,
        ] {
            assert_eq!(tuned(text).unwrap_err(), TuneError::NoUtilisation, "{text}");
        }
    }

    #[test]
    fn the_least_fixed_number_is_found() {
        let (requests, goal) = (requests(), Goal(Fraction(10)));
        let outcome = least_fixed(&requests, &setup(), goal, Replicas(50), Span(0));
        assert_eq!((outcome.policy.as_str(), outcome.misses), ("fixed 2", 0));
        let outcome = least_fixed(&requests, &setup(), goal, Replicas(1), Span(0));
        assert_eq!(outcome.policy, "fixed 1");
        assert!(!goal.is_met(&outcome));
    }
}
