//! One decision: what the rule wants, then the limits that hold for every rule. The bounds come
//! last, so that they always hold.

use crate::proposal::{Proposal, Situation};
use crate::state::{Change, State};
use crate::window::Window;
use crate::{latency, per_replica, queue, utilisation};
use common::autoscale::{
    Limit, LocalTime, Measure, Policy, Reason, Replicas, Requests, Rule, THOUSANDTHS_MAX,
};
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// How old a sample may be that shows requests where no replica is wanted.
const BUSY_WITHIN: Span = Span::from_minutes(1);

/// When a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub at: Time,
    /// For the policy's schedule.
    pub local: LocalTime,
}

impl Moment {
    /// The moment in a cluster that keeps UTC.
    #[must_use]
    pub const fn utc(at: Time) -> Self {
        Self { at, local: LocalTime::utc(at) }
    }
}

/// How many replicas are wanted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub wanted: Replicas,
    pub reason: Reason,
    /// For the next decision.
    pub state: State,
}

/// Decides how many replicas a role should have. The policy must be valid ([`Policy::validate`]).
///
/// `current` is the number that is wanted now, by the last decision or by a user, whether or not as
/// many have started. The samples say how many are ready.
///
/// The decision depends on its arguments only. It may be made at any interval; the sources decide
/// every 2 s (Knative), 5 s (Dynamo) and 15 s (Kubernetes).
#[must_use]
pub fn decide(
    policy: &Policy,
    window: &Window,
    current: Replicas,
    state: &State,
    now: Moment,
) -> Decision {
    let mut state = state.clone();
    let situation = Situation { window, current, now: now.at };
    let mut proposal = propose(policy, situation, &mut state);
    keep_one_while_busy(situation, &mut proposal);
    keep_last_for_grace(policy, situation, &mut state, &mut proposal);

    let bounds = policy.bounds(now.local);
    let (wanted, clamped) = (proposal.wanted, bounds.clamp(proposal.wanted));
    proposal.limit(clamped, |replicas| {
        if wanted < replicas { Limit::Min { replicas } } else { Limit::Max { replicas } }
    });
    let change = Change { at: now.at, from: current, to: proposal.wanted };
    let period = match &policy.rule {
        Rule::Utilisation(rule) => rule.period_seconds,
        _ => Span(0),
    };
    state.record_change(change, period);
    let Proposal { measure, wanted, limits } = proposal;
    Decision { wanted, reason: Reason { measure, limits }, state }
}

/// What the rule wants.
fn propose(policy: &Policy, situation: Situation<'_>, state: &mut State) -> Proposal {
    match &policy.rule {
        Rule::Fixed => {
            let replicas = policy.min;
            let measure = Measure::Fixed { replicas };
            Proposal { measure, wanted: replicas, limits: Vec::new() }
        }
        Rule::Concurrency(rule) => per_replica::propose_by_concurrency(rule, situation, state),
        Rule::Rps(rule) => per_replica::propose_by_rps(rule, situation, state),
        Rule::Utilisation(rule) => utilisation::propose(rule, situation, state),
        Rule::Queue(rule) => queue::propose(rule, situation, state),
        Rule::Latency(rule) => latency::propose(rule, situation, state),
    }
}

/// While requests are in flight or held, one replica is wanted at least. A rule whose metric comes
/// from the replicas has none to decide from when there are none.
fn keep_one_while_busy(situation: Situation<'_>, proposal: &mut Proposal) {
    let latest = situation.window.latest(BUSY_WITHIN, situation.now);
    let Some(busy) = latest.filter(|sample| sample.is_busy()) else { return };
    let in_flight = busy.in_flight.unwrap_or_default().0;
    let sum = in_flight.saturating_add(busy.held.0);
    let requests = Requests(sum.min(THOUSANDTHS_MAX));
    proposal.limit(proposal.wanted.max(Replicas::ONE), |_| Limit::Busy { requests });
}

/// The last replica stays until none has been needed for the grace time.
fn keep_last_for_grace(
    policy: &Policy,
    situation: Situation<'_>,
    state: &mut State,
    proposal: &mut Proposal,
) {
    if !proposal.wanted.is_zero() || situation.current.is_zero() {
        state.idle_since = None;
        return;
    }
    let since = *state.idle_since.get_or_insert(situation.now);
    let window = policy.zero_grace;
    if situation.now.since(since) < window {
        proposal.limit(Replicas::ONE, |_| Limit::ZeroGrace { window });
    }
}
