//! The autoscaling policy of one role of a service: bounds, at most one rule, and hours with other
//! bounds.

use super::check::{PolicyError, check_policy};
use super::hours::{Hours, LocalTime};
use super::latency::LatencyRule;
use super::rule::{Concurrency, Queue, Rps, Utilisation};
use super::unit::{Fraction, Replicas, seconds};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many replicas a role may have, and by which rule the number is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "PolicyTable", into = "PolicyTable")]
pub struct Policy {
    pub min: Replicas,
    pub max: Replicas,
    pub rule: Rule,
    /// Hours with other bounds, in local time.
    pub schedule: Vec<Hours>,
    /// The last replica is removed when none has been needed for this time.
    /// Source: Knative, `scale-to-zero-grace-period`.
    pub zero_grace: Span,
}

/// How the number is chosen between the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The minimum, which the hours of the schedule may raise.
    Fixed,
    Concurrency(Concurrency),
    Rps(Rps),
    Utilisation(Utilisation),
    Queue(Queue),
    Latency(LatencyRule),
}

/// The bounds that are in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    pub min: Replicas,
    pub max: Replicas,
}

impl Bounds {
    /// The number within the bounds that is nearest. With a minimum above the maximum, the maximum.
    #[must_use]
    pub fn clamp(self, wanted: Replicas) -> Replicas {
        wanted.max(self.min).min(self.max)
    }
}

/// The permitted numbers of prefill replicas for each decode replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatioBand {
    pub min: Fraction,
    pub max: Fraction,
}

impl RatioBand {
    /// # Errors
    /// The band is empty, or permits no replica of one role.
    pub fn validate(&self) -> Result<(), PolicyError> {
        let is_sound = self.min <= self.max && !self.max.is_zero();
        is_sound.then_some(()).ok_or(PolicyError::Band { min: self.min, max: self.max })
    }
}

impl Policy {
    pub const ZERO_GRACE: Span = Span::from_seconds(30);
    /// The most replicas of one role.
    pub const REPLICAS_MAX: Replicas = Replicas(10_000);
    /// The longest time over which metrics are averaged or changes are delayed.
    pub const SPAN_MAX: Span = Span::from_minutes(60);
    /// The most entries of the schedule.
    pub const HOURS_MAX: usize = 64;

    /// A policy without a schedule.
    #[must_use]
    pub const fn new(bounds: Bounds, rule: Rule) -> Self {
        let Bounds { min, max } = bounds;
        Self { min, max, rule, schedule: Vec::new(), zero_grace: Self::ZERO_GRACE }
    }

    /// Whether the policy makes sense. A policy that is read from a file or a message has only the
    /// right form.
    ///
    /// # Errors
    /// The first problem found, with the key and the valid values.
    pub fn validate(&self) -> Result<(), PolicyError> {
        check_policy(self)
    }

    /// The bounds at this time: the policy's, narrowed by the hours in effect. If these contradict
    /// each other, the minimum counts.
    #[must_use]
    pub fn bounds(&self, now: LocalTime) -> Bounds {
        let own = Bounds { min: self.min, max: self.max };
        let in_effect = || self.schedule.iter().filter(|hours| hours.contains(now));
        let min = in_effect().filter_map(|hours| hours.min).fold(own.min, Ord::max);
        let max = in_effect().filter_map(|hours| hours.max).fold(own.max, Ord::min);
        let min = own.clamp(min);
        Bounds { min, max: own.clamp(max).max(min) }
    }

    /// The time from one decision to the next that the rule's source uses: 2 s in Knative, 15 s in
    /// Kubernetes, 5 s in Dynamo's load-based scaling. Samples should be at least as frequent.
    #[must_use]
    pub const fn interval(&self) -> Span {
        match &self.rule {
            Rule::Concurrency(_) | Rule::Rps(_) => Span::from_seconds(2),
            Rule::Utilisation(_) => Span::from_seconds(15),
            Rule::Fixed | Rule::Queue(_) | Rule::Latency(_) => Span::from_seconds(5),
        }
    }

    /// The time for which the rule needs samples.
    #[must_use]
    pub fn window(&self) -> Span {
        match &self.rule {
            Rule::Fixed => Span(0),
            Rule::Concurrency(rule) => rule.stable_seconds.max(rule.panic_seconds),
            Rule::Rps(rule) => rule.stable_seconds.max(rule.panic_seconds),
            Rule::Utilisation(rule) => rule.window_seconds,
            Rule::Queue(rule) => rule.window_seconds.max(rule.down_window_seconds),
            Rule::Latency(rule) => rule.interval_seconds,
        }
    }
}

/// A policy in text: the rule is the one table that is there.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PolicyTable {
    #[serde(default)]
    min: Replicas,
    max: Replicas,
    #[serde(default = "default_zero_grace", with = "seconds")]
    #[schemars(with = "u64")]
    zero_grace_seconds: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<Concurrency>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rps: Option<Rps>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    utilisation: Option<Utilisation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queue: Option<Queue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency: Option<LatencyRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    schedule: Vec<Hours>,
}

const fn default_zero_grace() -> Span {
    Policy::ZERO_GRACE
}

impl TryFrom<PolicyTable> for Policy {
    type Error = PolicyError;

    fn try_from(table: PolicyTable) -> Result<Self, PolicyError> {
        let PolicyTable { min, max, schedule, zero_grace_seconds: zero_grace, .. } = table;
        let rules = [
            ("concurrency", table.concurrency.map(Rule::Concurrency)),
            ("rps", table.rps.map(Rule::Rps)),
            ("utilisation", table.utilisation.map(Rule::Utilisation)),
            ("queue", table.queue.map(Rule::Queue)),
            ("latency", table.latency.map(Rule::Latency)),
        ];
        let mut given = rules.into_iter().filter_map(|(name, rule)| Some((name, rule?)));
        let rule = match (given.next(), given.next()) {
            (None, _) => Rule::Fixed,
            (Some((_, rule)), None) => rule,
            (Some((first, _)), Some((second, _))) => {
                return Err(PolicyError::TwoRules { first, second });
            }
        };
        Ok(Self { min, max, rule, schedule, zero_grace })
    }
}

impl From<Policy> for PolicyTable {
    fn from(policy: Policy) -> Self {
        let Policy { min, max, rule, schedule, zero_grace } = policy;
        let mut table = Self {
            min,
            max,
            zero_grace_seconds: zero_grace,
            concurrency: None,
            rps: None,
            utilisation: None,
            queue: None,
            latency: None,
            schedule,
        };
        match rule {
            Rule::Fixed => {}
            Rule::Concurrency(rule) => table.concurrency = Some(rule),
            Rule::Rps(rule) => table.rps = Some(rule),
            Rule::Utilisation(rule) => table.utilisation = Some(rule),
            Rule::Queue(rule) => table.queue = Some(rule),
            Rule::Latency(rule) => table.latency = Some(rule),
        }
        table
    }
}
