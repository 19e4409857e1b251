//! One trace under all policies, and the choice of a target utilisation.

use super::choice::{Choice, choices};
use super::{Arguments, ServicesError, write};
use common::autoscale::{Fraction, Policy, Replicas};
use common::time::Span;
use serde::Serialize;
use sim::service::{Goal, Outcome, Plan, Setup, Tuning, least_fixed, replay, tune};
use trace::{Request, write_requests};

/// The result for one trace.
#[derive(Serialize)]
pub struct Study {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    pub setup: Setup,
    pub outcomes: Vec<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuned: Option<TunedPolicy>,
}

/// What `--tune` chose.
#[derive(Serialize)]
pub struct TunedPolicy {
    pub policy: String,
    pub utilisation: Fraction,
    /// Whether few enough requests missed the bound in the first half.
    pub met: bool,
    /// Replays that the choice took.
    pub tried: usize,
    /// On the first half.
    pub chosen_on: Outcome,
}

/// Replays the requests under all policies. With `--tune`, the first of them is tuned on the first
/// half of the trace, and all are measured on the second half.
///
/// # Errors
/// Policies that cannot be read or tuned, and a trace that cannot be written.
pub fn study(
    arguments: &Arguments,
    setup: Setup,
    goal: Goal,
    requests: &[Request],
    seed: Option<u64>,
) -> Result<Study, ServicesError> {
    if let Some(file) = &arguments.write_trace {
        write(file, &write_requests(requests))?;
    }
    let choices = choices(arguments, &setup, requests)?;
    let last = requests.last().map_or(Span(0), |request| request.arrival);
    let measured_from = if arguments.tune { Span(last.0 / 2) } else { Span(0) };
    let replayed = |name: &str, policy: &Policy| {
        replay(&Plan { requests, setup: &setup, name, policy, measured_from })
    };
    let mut outcomes: Vec<Outcome> =
        choices.iter().map(|choice| replayed(&choice.name, &choice.policy)).collect();
    let mut tuned = None;
    if let Some(Choice { name, policy }) = choices.first().filter(|_| arguments.tune) {
        let chosen = tune(&Tuning { requests, setup: &setup, policy, split: measured_from, goal })?;
        outcomes.push(replayed(&format!("{name} tuned"), &chosen.policy));
        tuned = Some(TunedPolicy {
            policy: name.clone(),
            utilisation: chosen.utilisation,
            met: chosen.met,
            tried: chosen.tried,
            chosen_on: chosen.chosen_on,
        });
    }
    let max = Replicas(arguments.max.max(1));
    outcomes.push(least_fixed(requests, &setup, goal, max, measured_from));
    Ok(Study { seed, setup, outcomes, tuned })
}
