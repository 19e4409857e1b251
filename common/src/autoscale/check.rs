//! Checks of an autoscaling policy.

use super::latency::{Decode, DecodeCurve, LatencyRule, Prefill};
use super::policy::{Policy, Rule};
use super::rule::{PerReplica, Queue, Utilisation};
use super::unit::{Fraction, Replicas};
use crate::time::Span;
use std::fmt;

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("a policy has one rule, this one has `{first}` and `{second}`: remove one of them")]
    TwoRules { first: &'static str, second: &'static str },
    #[error("min {min} is more than max {max}")]
    Bounds { min: Replicas, max: Replicas },
    #[error("max is {0}, it must be from 1 to {most}", most = Policy::REPLICAS_MAX)]
    Max(Replicas),
    #[error("schedule {hours}: {problem}")]
    Hours { hours: String, problem: &'static str },
    #[error("the schedule has {0} entries, at most {most} are allowed", most = Policy::HOURS_MAX)]
    TooManyHours(usize),
    #[error("{rule}.{key} is {value}, it must be {valid}")]
    Value { rule: &'static str, key: &'static str, value: String, valid: &'static str },
    #[error("{rule}.{low} must be {relation} {rule}.{high}")]
    Order { rule: &'static str, low: &'static str, relation: &'static str, high: &'static str },
    #[error("latency needs a bound: add the table `ttft`, `itl` or both")]
    NoBound,
    #[error("latency.{part}.profile {problem}")]
    Profile { part: &'static str, problem: &'static str },
    #[error(
        "the ratio band from {min} to {max} permits no numbers: its max must be above 0 and at \
         least its min"
    )]
    Band { min: Fraction, max: Fraction },
}

/// Checks a policy.
///
/// # Errors
/// The first problem found.
pub(super) fn check_policy(policy: &Policy) -> Result<(), PolicyError> {
    let (min, max) = (policy.min, policy.max);
    if max.is_zero() || max > Policy::REPLICAS_MAX {
        return Err(PolicyError::Max(max));
    }
    if min > max {
        return Err(PolicyError::Bounds { min, max });
    }
    Table("policy").delay("zero_grace_seconds", policy.zero_grace)?;
    check_schedule(policy)?;
    match &policy.rule {
        Rule::Fixed => Ok(()),
        Rule::Concurrency(rule) => {
            check_per_replica(Table("concurrency"), rule, rule.target.is_zero())
        }
        Rule::Rps(rule) => check_per_replica(Table("rps"), rule, rule.target.is_zero()),
        Rule::Utilisation(rule) => check_utilisation(rule),
        Rule::Queue(rule) => check_queue(rule),
        Rule::Latency(rule) => check_latency(rule),
    }
}

fn check_schedule(policy: &Policy) -> Result<(), PolicyError> {
    if policy.schedule.len() > Policy::HOURS_MAX {
        return Err(PolicyError::TooManyHours(policy.schedule.len()));
    }
    for hours in &policy.schedule {
        let bad = |problem| Err(PolicyError::Hours { hours: hours.to_string(), problem });
        match (hours.min, hours.max) {
            (None, None) => return bad("it changes nothing: give min, max or both"),
            (Some(min), Some(max)) if min > max => return bad("its min is more than its max"),
            (Some(min), _) if min > policy.max => return bad("its min is above the policy's max"),
            (_, Some(max)) if max < policy.min => return bad("its max is below the policy's min"),
            _ => {}
        }
    }
    Ok(())
}

/// The table of a rule, for errors.
#[derive(Clone, Copy)]
struct Table(&'static str);

impl Table {
    fn require(
        self,
        is_sound: bool,
        key: &'static str,
        value: impl fmt::Display,
        valid: &'static str,
    ) -> Result<(), PolicyError> {
        if is_sound {
            return Ok(());
        }
        Err(PolicyError::Value { rule: self.0, key, value: value.to_string(), valid })
    }

    /// A part of a whole, and not nothing.
    fn fraction(self, key: &'static str, value: Fraction) -> Result<(), PolicyError> {
        let is_sound = !value.is_zero() && value <= Fraction::WHOLE;
        self.require(is_sound, key, value, "above 0 and at most 1")
    }

    fn delay(self, key: &'static str, span: Span) -> Result<(), PolicyError> {
        self.require(span <= Policy::SPAN_MAX, key, span.seconds(), "at most 3600")
    }

    fn window(self, key: &'static str, span: Span) -> Result<(), PolicyError> {
        let is_sound = span >= Span::from_seconds(1) && span <= Policy::SPAN_MAX;
        self.require(is_sound, key, span.seconds(), "from 1 to 3600")
    }

    fn order<T: PartialOrd>(
        self,
        (low, low_value): (&'static str, T),
        (high, high_value): (&'static str, T),
    ) -> Result<(), PolicyError> {
        if low_value < high_value {
            return Ok(());
        }
        Err(PolicyError::Order { rule: self.0, low, relation: "less than", high })
    }
}

fn check_per_replica<T: fmt::Display>(
    table: Table,
    rule: &PerReplica<T>,
    is_zero: bool,
) -> Result<(), PolicyError> {
    table.require(!is_zero, "target", &rule.target, "above 0")?;
    table.fraction("utilisation", rule.utilisation)?;
    table.window("stable_seconds", rule.stable_seconds)?;
    table.window("panic_seconds", rule.panic_seconds)?;
    if rule.panic_seconds > rule.stable_seconds {
        let (low, high) = ("panic_seconds", "stable_seconds");
        return Err(PolicyError::Order { rule: table.0, low, relation: "at most", high });
    }
    let above_one = |key, value: Fraction| {
        let valid = "above 1 and at most 1000";
        let is_sound = value > Fraction::WHOLE && value <= Fraction::whole(1000);
        table.require(is_sound, key, value, valid)
    };
    above_one("panic_threshold", rule.panic_threshold)?;
    above_one("up_factor", rule.up_factor)?;
    above_one("down_factor", rule.down_factor)?;
    table.delay("down_delay_seconds", rule.down_delay_seconds)
}

fn check_utilisation(rule: &Utilisation) -> Result<(), PolicyError> {
    let table = Table("utilisation");
    if rule.metric.is_fraction() {
        table.fraction("target", Fraction(rule.target.0))?;
    }
    table.require(!rule.target.is_zero(), "target", rule.target, "above 0")?;
    let is_sound = rule.tolerance < Fraction::WHOLE;
    table.require(is_sound, "tolerance", rule.tolerance, "from 0 to below 1")?;
    table.window("window_seconds", rule.window_seconds)?;
    table.window("period_seconds", rule.period_seconds)?;
    table.delay("up_stabilisation_seconds", rule.up_stabilisation_seconds)?;
    table.delay("down_stabilisation_seconds", rule.down_stabilisation_seconds)?;
    table.fraction("down_part", rule.down_part)?;
    let can_grow = !rule.up_part.is_zero() || !rule.up_replicas.is_zero();
    table.require(can_grow, "up_part", rule.up_part, "above 0 if up_replicas is 0")
}

fn check_queue(rule: &Queue) -> Result<(), PolicyError> {
    let table = Table("queue");
    table.order(("freeness_min", rule.freeness_min), ("freeness_max", rule.freeness_max))?;
    table.fraction("kv_max", rule.kv_max)?;
    table.order(("kv_min", rule.kv_min), ("kv_max", rule.kv_max))?;
    table.order(("waiting_min", rule.waiting_min), ("waiting_max", rule.waiting_max))?;
    table.window("window_seconds", rule.window_seconds)?;
    table.window("down_window_seconds", rule.down_window_seconds)?;
    table.delay("settle_seconds", rule.settle_seconds)?;
    let is_sound = !rule.step.is_zero() && rule.step <= Policy::REPLICAS_MAX;
    table.require(is_sound, "step", rule.step, "from 1 to 10000")
}

fn check_latency(rule: &LatencyRule) -> Result<(), PolicyError> {
    if rule.ttft.is_none() && rule.itl.is_none() {
        return Err(PolicyError::NoBound);
    }
    let table = Table("latency");
    table.window("interval_seconds", rule.interval_seconds)?;
    table.delay("down_stabilisation_seconds", rule.down_stabilisation_seconds)?;
    rule.ttft.as_ref().map_or(Ok(()), check_prefill)?;
    rule.itl.as_ref().map_or(Ok(()), check_decode)
}

fn check_prefill(prefill: &Prefill) -> Result<(), PolicyError> {
    let Prefill { target_ms, profile } = prefill;
    Table("latency.ttft").require(!target_ms.is_zero(), "target_ms", target_ms, "above 0")?;
    let bad = |problem| Err(PolicyError::Profile { part: "ttft", problem });
    if profile.is_empty() || profile.len() > LatencyRule::POINTS_MAX {
        return bad("must have 1 to 64 points");
    }
    if !profile.is_sorted_by(|a, b| a.tokens_in < b.tokens_in) {
        return bad("must have its points by rising tokens_in");
    }
    if profile.iter().any(|point| point.tokens_per_second.is_zero() || point.ttft_ms.is_zero()) {
        return bad("has a point without ttft_ms or tokens_per_second: both must be above 0");
    }
    Ok(())
}

fn check_decode(decode: &Decode) -> Result<(), PolicyError> {
    let Decode { target_ms, profile } = decode;
    Table("latency.itl").require(!target_ms.is_zero(), "target_ms", target_ms, "above 0")?;
    let bad = |problem| Err(PolicyError::Profile { part: "itl", problem });
    if profile.is_empty() || profile.len() > LatencyRule::CURVES_MAX {
        return bad("must have 1 to 32 curves");
    }
    if !profile.is_sorted_by(|a, b| a.context < b.context) {
        return bad("must have its curves by rising context");
    }
    match profile.iter().find_map(curve_problem) {
        Some(problem) => bad(problem),
        None => Ok(()),
    }
}

fn curve_problem(curve: &DecodeCurve) -> Option<&'static str> {
    let points = &curve.points;
    if points.is_empty() || points.len() > LatencyRule::POINTS_MAX {
        return Some("has a curve without points, or with more than 64");
    }
    if !points.is_sorted_by(|a, b| a.concurrency < b.concurrency) {
        return Some("must have the points of each curve by rising concurrency");
    }
    if points.iter().any(|point| point.tokens_per_second.is_zero() || point.itl_ms.is_zero()) {
        return Some("has a point without itl_ms or tokens_per_second: both must be above 0");
    }
    // The largest throughput within the bound is looked up along the curve.
    let is_sound = points
        .is_sorted_by(|a, b| a.itl_ms <= b.itl_ms && a.tokens_per_second <= b.tokens_per_second);
    let problem = "has a curve whose itl_ms or tokens_per_second falls: leave those points out";
    (!is_sound).then_some(problem)
}

#[cfg(test)]
mod tests;
