//! What would change the number of replicas that a policy wants: the thresholds, in words.

use super::hours::LocalTime;
use super::policy::{Policy, Rule};
use super::rule::{Metric, PerReplica, Queue, Utilisation};
use super::unit::{Fraction, Replicas, show};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What would change the number of replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outlook {
    /// When there would be more.
    pub more: String,
    /// When there would be fewer.
    pub fewer: String,
}

impl Policy {
    /// What would change this number of replicas at this time.
    #[must_use]
    pub fn outlook(&self, current: Replicas, now: LocalTime) -> Outlook {
        let rule = match &self.rule {
            Rule::Fixed => Outlook {
                more: "in hours of the schedule with a higher `min`, if there are any".to_owned(),
                fewer: "after hours of the schedule with a higher `min`".to_owned(),
            },
            Rule::Concurrency(rule) => {
                per_replica_outlook(rule, rule.target.0, current, "requests in flight")
            }
            Rule::Rps(rule) => {
                per_replica_outlook(rule, rule.target.0, current, "requests per second")
            }
            Rule::Utilisation(rule) => utilisation_outlook(rule),
            Rule::Queue(rule) => queue_outlook(rule),
            Rule::Latency(_) => Outlook {
                more: "with more tokens per second than these take within the bounds".to_owned(),
                fewer: "when fewer take the tokens per second within the bounds".to_owned(),
            },
        };
        let bounds = self.bounds(now);
        let Outlook { mut more, mut fewer } = rule;
        if current >= bounds.max {
            let whose = if bounds.max < self.max { "at this hour" } else { "by `max`" };
            more = format!("no: at most {} are allowed {whose}", bounds.max);
        }
        if current <= bounds.min {
            let whose = if bounds.min > self.min { "at this hour" } else { "by `min`" };
            fewer = format!("no: at least {} are required {whose}", bounds.min);
        }
        Outlook { more, fewer }
    }
}

fn seconds(span: Span) -> u64 {
    span.0.div_ceil(1000)
}

fn per_replica_outlook<T>(
    rule: &PerReplica<T>,
    target: u64,
    current: Replicas,
    of: &str,
) -> Outlook {
    let window = seconds(rule.stable_seconds);
    let load = |replicas: Replicas| {
        let each = u128::from(target) * u128::from(rule.utilisation.0) / 1000;
        show(u64::try_from(each * u128::from(replicas.0)).unwrap_or(u64::MAX))
    };
    let fewer = current.saturating_sub(Replicas::ONE);
    let delay = match rule.down_delay_seconds {
        Span(0) => String::new(),
        delay => format!(", for {} s", seconds(delay)),
    };
    Outlook {
        more: format!("above {} {of}, as a mean over {window} s", load(current)),
        fewer: match fewer {
            Replicas::ZERO => format!("without any {of} over {window} s{delay}"),
            fewer => format!("with {} {of} or less, over {window} s{delay}", load(fewer)),
        },
    }
}

fn utilisation_outlook(rule: &Utilisation) -> Outlook {
    let at = |factor: u64| show((u128::from(rule.target.0) * u128::from(factor) / 1000) as u64);
    let (metric, window) = (rule.metric, seconds(rule.window_seconds));
    let each = if matches!(metric, Metric::Ttft | Metric::Itl) { "" } else { " for each replica" };
    let delay = seconds(rule.down_stabilisation_seconds);
    let tolerance = rule.tolerance.0;
    Outlook {
        more: format!(
            "above {} {metric}{each}, as a mean over {window} s",
            at(1000_u64.saturating_add(tolerance))
        ),
        fewer: format!(
            "below {} {metric}{each}, for {delay} s",
            at(1000_u64.saturating_sub(tolerance))
        ),
    }
}

fn queue_outlook(rule: &Queue) -> Outlook {
    let percent = |part: Fraction| part.percent();
    Outlook {
        more: format!(
            "with KV caches above {}, more than {} waiting requests for each replica, or a mean \
             freeness below {}, over {} s",
            percent(rule.kv_max),
            rule.waiting_max,
            rule.freeness_min,
            seconds(rule.window_seconds)
        ),
        fewer: format!(
            "with KV caches below {}, less than {} waiting requests for each replica, and a mean \
             freeness above {}, over {} s",
            percent(rule.kv_min),
            rule.waiting_min,
            rule.freeness_max,
            seconds(rule.down_window_seconds)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autoscale::policy::Bounds;
    use crate::autoscale::rule::Concurrency;
    use crate::autoscale::unit::Requests;
    use crate::time::Time;

    #[test]
    fn thresholds_are_those_of_the_rule_and_bounds_come_last() {
        let bounds = Bounds { min: Replicas(1), max: Replicas(4) };
        let rule = Rule::Concurrency(Concurrency::new(Requests::whole(8)));
        let policy = Policy::new(bounds, rule);
        let at = |replicas| policy.outlook(Replicas(replicas), LocalTime::utc(Time(0)));
        assert_eq!(at(2).more, "above 11.2 requests in flight, as a mean over 60 s");
        assert_eq!(at(2).fewer, "with 5.6 requests in flight or less, over 60 s");
        assert_eq!(at(4).more, "no: at most 4 are allowed by `max`");
        assert_eq!(at(1).fewer, "no: at least 1 are required by `min`");
    }
}
