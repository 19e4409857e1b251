//! The rules `concurrency` and `rps`: the load by the target of one replica, averaged over a stable
//! window, and over a short one during a burst.
//!
//! Source: Knative Serving, `pkg/autoscaler/scaling/autoscaler.go`. One difference: the number is
//! never below half of that wanted before, where Knative takes half of those that are ready. A role
//! whose replicas start slowly would otherwise lose those that are starting.

use crate::amount::{divide_up, narrow, product};
use crate::proposal::{Proposal, Situation};
use crate::sample::Sample;
use crate::state::{Panic, State};
use common::autoscale::{
    Concurrency, Demand, Limit, Measure, PerReplica, Replicas, RequestRate, Requests, Rps,
};
use common::time::Span;

pub fn propose_by_concurrency(
    rule: &Concurrency,
    situation: Situation<'_>,
    state: &mut State,
) -> Proposal {
    let demand = |load: Load| {
        let Load { load, window, replicas } = load;
        let PerReplica { target, utilisation, .. } = *rule;
        Measure::Concurrency(Demand { load: Requests(load), window, target, utilisation, replicas })
    };
    propose(rule, rule.target.0, Sample::total_in_flight, demand, situation, state)
}

pub fn propose_by_rps(rule: &Rps, situation: Situation<'_>, state: &mut State) -> Proposal {
    let demand = |load: Load| {
        let Load { load, window, replicas } = load;
        let PerReplica { target, utilisation, .. } = *rule;
        Measure::Rps(Demand { load: RequestRate(load), window, target, utilisation, replicas })
    };
    propose(rule, rule.target.0, Sample::total_rate, demand, situation, state)
}

/// A mean load, in thousandths, and the replicas that it needs.
#[derive(Clone, Copy)]
struct Load {
    load: u64,
    window: Span,
    replicas: Replicas,
}

fn propose<T>(
    rule: &PerReplica<T>,
    target: u64,
    load_of: fn(&Sample) -> Option<u64>,
    demand: impl Fn(Load) -> Measure,
    situation: Situation<'_>,
    state: &mut State,
) -> Proposal {
    let Situation { window, current, now } = situation;
    let measured = |span| {
        let load = window.mean(span, now, load_of)?;
        let needed = product([load, 1000]);
        let replicas = divide_up(needed, product([target, rule.utilisation.0]))?;
        Some(Load { load, window: span, replicas })
    };
    let Some(stable) = measured(rule.stable_seconds) else {
        return situation.proposal_without_data(rule.stable_seconds);
    };
    // With samples that are rarer than the panic window, there may be none in it.
    let burst = measured(rule.panic_seconds).unwrap_or(stable);
    let ready = situation.ready_replicas(rule.stable_seconds).max(Replicas::ONE);
    update_panic(rule, burst.replicas, ready, now, state);

    let load =
        if state.panic.is_some() && burst.replicas > stable.replicas { burst } else { stable };
    let mut proposal =
        Proposal { measure: demand(load), wanted: load.replicas, limits: Vec::new() };
    let most = divide_up(product([ready.0.into(), rule.up_factor.0]), 1000).unwrap_or(ready);
    proposal.limit(proposal.wanted.min(most), |replicas| Limit::StepUp { replicas });
    let least = narrow(product([current.0.into(), 1000]) / u128::from(rule.down_factor.0.max(1)));
    let least = Replicas(u32::try_from(least).unwrap_or(u32::MAX));
    proposal.limit(proposal.wanted.max(least), |replicas| Limit::StepDown { replicas });
    if let Some(panic) = &mut state.panic {
        panic.replicas = panic.replicas.max(proposal.wanted).max(current);
        let window = rule.stable_seconds;
        proposal.limit(panic.replicas, |replicas| Limit::Panic { window, replicas });
    }
    let window = rule.down_delay_seconds;
    let largest = state.maxima.record_and_largest(proposal.wanted, current, window, now);
    proposal.limit(largest, |replicas| Limit::DownDelay { window, replicas });
    proposal
}

/// A burst lasts until the load has been below the threshold for a stable window.
fn update_panic<T>(
    rule: &PerReplica<T>,
    needed: Replicas,
    ready: Replicas,
    now: common::time::Time,
    state: &mut State,
) {
    let is_above =
        product([needed.0.into(), 1000]) >= product([ready.0.into(), rule.panic_threshold.0]);
    match &mut state.panic {
        Some(panic) if is_above => panic.last = now,
        None if is_above => state.panic = Some(Panic { last: now, replicas: Replicas::ZERO }),
        Some(panic) if now.since(panic.last) > rule.stable_seconds => state.panic = None,
        _ => {}
    }
}
