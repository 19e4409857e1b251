//! The rule `utilisation`: the number of replicas changes in proportion to a metric.
//!
//! Source: Kubernetes' HorizontalPodAutoscaler (autoscaling/v2), the pages "Horizontal Pod
//! Autoscaling" on the algorithm, on replicas that are not ready or report nothing, and on
//! `behavior`.

use crate::amount::{divide_up, narrow, product};
use crate::proposal::{Proposal, Situation};
use crate::state::State;
use common::autoscale::{Level, Limit, Measure, Replicas, Utilisation};

pub fn propose(rule: &Utilisation, situation: Situation<'_>, state: &mut State) -> Proposal {
    let Situation { current, now, .. } = situation;
    let Some(usage) = Usage::measure(rule, situation) else {
        return situation.proposal_without_data(rule.window_seconds);
    };
    let replicas = usage.needed(rule, current);
    let Utilisation { metric, target, tolerance, window_seconds: window, .. } = *rule;
    let level = usage.level;
    let measure = Measure::Utilisation { metric, level, window, target, tolerance, replicas };
    let mut proposal = Proposal { measure, wanted: replicas, limits: Vec::new() };

    let window = rule.down_stabilisation_seconds;
    let largest = state.maxima.record_and_largest(replicas, current, window, now).min(current);
    let up_window = rule.up_stabilisation_seconds;
    let smallest = state.minima.record_and_smallest(replicas, current, up_window, now).max(current);
    proposal.limit(proposal.wanted.max(largest), |replicas| Limit::DownDelay { window, replicas });
    let window = up_window;
    proposal.limit(proposal.wanted.min(smallest), |replicas| Limit::UpDelay { window, replicas });
    limit_pace(rule, situation, state, &mut proposal);
    proposal
}

/// The limits of a period count from the number with which it began.
fn limit_pace(
    rule: &Utilisation,
    situation: Situation<'_>,
    state: &State,
    proposal: &mut Proposal,
) {
    let Situation { current, now, .. } = situation;
    let begin = state.replicas_at_period_begin(current, rule.period_seconds, now);
    let by_part = divide_up(product([begin.0.into(), rule.up_part.0.saturating_add(1000)]), 1000);
    let most = by_part.unwrap_or(begin).max(begin.saturating_add(rule.up_replicas)).max(current);
    proposal.limit(proposal.wanted.min(most), |replicas| Limit::StepUp { replicas });
    let rest = 1000_u64.saturating_sub(rule.down_part.0);
    let least = narrow(product([begin.0.into(), rest]) / 1000);
    let least = Replicas(u32::try_from(least).unwrap_or(u32::MAX)).min(current);
    proposal.limit(proposal.wanted.max(least), |replicas| Limit::StepDown { replicas });
}

/// The metric, in thousandths.
struct Usage {
    /// Mean sum over the replicas that reported.
    sum: u64,
    /// Thousandths of replicas that were ready, in the mean.
    ready: u64,
    /// Thousandths of replicas that reported, in the mean.
    reporting: u64,
    /// Mean for each replica that reported.
    level: Level,
}

impl Usage {
    fn measure(rule: &Utilisation, situation: Situation<'_>) -> Option<Self> {
        let Situation { window, now, .. } = situation;
        // All three over the samples that have the metric.
        let mean = |value: fn(&crate::Sample) -> u64| {
            window.mean(rule.window_seconds, now, |sample| {
                sample.sum_of(rule.metric).map(|_| value(sample))
            })
        };
        let ready = mean(|sample| u64::from(sample.ready.0) * 1000)?;
        let reporting = mean(|sample| u64::from(sample.reporting.0) * 1000)?;
        let sum = window.mean(rule.window_seconds, now, |sample| sample.sum_of(rule.metric))?;
        if reporting == 0 {
            return None;
        }
        let level = product([sum, 1000]).div_ceil(reporting.into());
        Some(Self { sum, ready, reporting, level: Level(narrow(level)) })
    }

    /// The replicas for this usage. Those that start or report nothing are taken to do nothing when
    /// replicas are to be added; those that report nothing are taken to be at the target when
    /// replicas are to be removed. If that turns the decision round, nothing changes.
    fn needed(&self, rule: &Utilisation, current: Replicas) -> Replicas {
        let target = rule.target.0;
        let ratio_of = |sum: u64, replicas: u64| {
            product([sum, 1_000_000]).checked_div(product([replicas, target])).unwrap_or(0)
        };
        let (above, below) = (
            u128::from(1000 + rule.tolerance.0),
            u128::from(1000_u64.saturating_sub(rule.tolerance.0)),
        );
        let all = u64::from(current.0) * 1000;
        let first = ratio_of(self.sum, self.reporting);
        if first > above {
            let replicas = self.ready.max(all);
            let needed = divide_up(product([self.sum]), target.into()).unwrap_or(current);
            if ratio_of(self.sum, replicas) <= above { current } else { needed.max(current) }
        } else if first < below {
            let silent = self.ready.saturating_sub(self.reporting);
            let assumed = narrow(product([silent, target]).div_ceil(1000));
            let sum = self.sum.saturating_add(assumed);
            let needed = divide_up(sum.into(), target.into()).unwrap_or(current);
            if ratio_of(sum, self.ready) >= below { current } else { needed.min(current) }
        } else {
            current
        }
    }
}
