//! The rules that say how many replicas a load needs, each with its settings and their defaults.
//! The crate `autoscale` carries them out.

use super::unit::{Fraction, Freeness, Level, Replicas, RequestRate, Requests, seconds};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A metric of a role, for the rule `utilisation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Requests in progress or waiting, for each replica.
    InFlight,
    /// Requests per second, for each replica.
    Rps,
    /// Requests that wait in the replica's engine, for each replica.
    Waiting,
    /// The part of the memory for keys and values (KV cache) in use, from 0 to 1.
    KvUsage,
    /// The part of the GPUs' time in use, from 0 to 1.
    GpuUsage,
    /// The time to the first token, in milliseconds.
    Ttft,
    /// The time from one token to the next, in milliseconds.
    Itl,
}

impl Metric {
    /// Whether its values are parts of a whole.
    #[must_use]
    pub const fn is_fraction(self) -> bool {
        matches!(self, Self::KvUsage | Self::GpuUsage)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InFlight => "requests in flight",
            Self::Rps => "requests per second",
            Self::Waiting => "waiting requests",
            Self::KvUsage => "KV cache in use",
            Self::GpuUsage => "GPU time in use",
            Self::Ttft => "ms to the first token",
            Self::Itl => "ms between tokens",
        })
    }
}

/// The rules `concurrency` and `rps`: as many replicas as the load needs at the target for each.
///
/// Source: Knative Serving's autoscaler (KPA), `pkg/autoscaler/scaling/autoscaler.go` and the
/// defaults in `config-autoscaler`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerReplica<T> {
    /// The load that one replica can take.
    pub target: T,
    /// The part of `target` that is aimed at. The rest is for bursts.
    #[serde(default = "PerReplica::<()>::default_utilisation")]
    pub utilisation: Fraction,
    /// The load is averaged over this time.
    #[serde(default = "PerReplica::<()>::default_stable", with = "seconds")]
    #[schemars(with = "u64")]
    pub stable_seconds: Span,
    /// In a burst the load is averaged over this time.
    #[serde(default = "PerReplica::<()>::default_panic", with = "seconds")]
    #[schemars(with = "u64")]
    pub panic_seconds: Span,
    /// A burst is a load that needs this multiple of the replicas that are ready.
    #[serde(default = "PerReplica::<()>::default_threshold")]
    pub panic_threshold: Fraction,
    /// At most this multiple of the replicas that are ready is wanted.
    #[serde(default = "PerReplica::<()>::default_up")]
    pub up_factor: Fraction,
    /// The number of replicas is divided at most by this in one step.
    #[serde(default = "PerReplica::<()>::default_down")]
    pub down_factor: Fraction,
    /// Replicas are removed when fewer have been enough for this time.
    #[serde(default, with = "seconds", skip_serializing_if = "Span::is_zero")]
    #[schemars(with = "u64")]
    pub down_delay_seconds: Span,
}

/// The target of the rule `concurrency` is requests in flight.
pub type Concurrency = PerReplica<Requests>;
/// The target of the rule `rps` is requests per second.
pub type Rps = PerReplica<RequestRate>;

impl PerReplica<()> {
    const fn default_utilisation() -> Fraction {
        Fraction(700)
    }

    const fn default_stable() -> Span {
        Span::from_seconds(60)
    }

    /// 10 % of the stable window.
    const fn default_panic() -> Span {
        Span::from_seconds(6)
    }

    const fn default_threshold() -> Fraction {
        Fraction::whole(2)
    }

    const fn default_up() -> Fraction {
        Fraction::whole(1000)
    }

    const fn default_down() -> Fraction {
        Fraction::whole(2)
    }
}

impl<T> PerReplica<T> {
    /// The rule with its defaults.
    #[must_use]
    pub const fn new(target: T) -> Self {
        Self {
            target,
            utilisation: PerReplica::default_utilisation(),
            stable_seconds: PerReplica::default_stable(),
            panic_seconds: PerReplica::default_panic(),
            panic_threshold: PerReplica::default_threshold(),
            up_factor: PerReplica::default_up(),
            down_factor: PerReplica::default_down(),
            down_delay_seconds: Span(0),
        }
    }
}

/// The rule `utilisation`: the number of replicas changes in proportion to a metric.
///
/// Source: Kubernetes' HorizontalPodAutoscaler (autoscaling/v2), its algorithm and its default
/// behaviour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Utilisation {
    pub metric: Metric,
    /// The mean value for each replica that is aimed at, in the metric's unit.
    pub target: Level,
    /// No change while the metric differs from the target by at most this part of it.
    #[serde(default = "Utilisation::default_tolerance")]
    pub tolerance: Fraction,
    /// The metric is averaged over this time.
    #[serde(default = "Utilisation::default_period", with = "seconds")]
    #[schemars(with = "u64")]
    pub window_seconds: Span,
    /// Replicas are added when more have been needed for this time.
    #[serde(default, with = "seconds", skip_serializing_if = "Span::is_zero")]
    #[schemars(with = "u64")]
    pub up_stabilisation_seconds: Span,
    /// In each `period_seconds`, at most this part of the replicas is added, or `up_replicas`
    /// if that is more.
    #[serde(default = "Utilisation::default_part")]
    pub up_part: Fraction,
    #[serde(default = "Utilisation::default_up")]
    pub up_replicas: Replicas,
    /// Replicas are removed when fewer have been enough for this time.
    #[serde(default = "Utilisation::default_down_stabilisation", with = "seconds")]
    #[schemars(with = "u64")]
    pub down_stabilisation_seconds: Span,
    /// In each `period_seconds`, at most this part of the replicas is removed.
    #[serde(default = "Utilisation::default_part")]
    pub down_part: Fraction,
    #[serde(default = "Utilisation::default_period", with = "seconds")]
    #[schemars(with = "u64")]
    pub period_seconds: Span,
}

impl Utilisation {
    const fn default_tolerance() -> Fraction {
        Fraction(100)
    }

    const fn default_period() -> Span {
        Span::from_seconds(15)
    }

    const fn default_part() -> Fraction {
        Fraction::WHOLE
    }

    const fn default_up() -> Replicas {
        Replicas(4)
    }

    const fn default_down_stabilisation() -> Span {
        Span::from_seconds(300)
    }

    /// The rule with its defaults.
    #[must_use]
    pub const fn new(metric: Metric, target: Level) -> Self {
        Self {
            metric,
            target,
            tolerance: Self::default_tolerance(),
            window_seconds: Self::default_period(),
            up_stabilisation_seconds: Span(0),
            up_part: Self::default_part(),
            up_replicas: Self::default_up(),
            down_stabilisation_seconds: Self::default_down_stabilisation(),
            down_part: Self::default_part(),
            period_seconds: Self::default_period(),
        }
    }
}

/// The rule `queue`: a step up or down when the memory and the queues of the engines (vLLM, SGLang)
/// leave a band. Each signal that the replicas report counts.
///
/// Sources: Llumnix (OSDI 2024) for the band of the mean freeness; NVIDIA Dynamo's planner,
/// load-based scaling, for KV cache and queue, the step and the grace of 3 intervals of 5 s. The
/// longer window for removals is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// Below this mean freeness replicas are added.
    pub freeness_min: Freeness,
    /// Above this mean freeness replicas are removed.
    pub freeness_max: Freeness,
    /// Above this mean part of the KV cache replicas are added.
    pub kv_max: Fraction,
    /// Below this mean part of the KV cache replicas are removed, if those that remain stay at or
    /// below the middle of `kv_min` and `kv_max`.
    pub kv_min: Fraction,
    /// Above this mean number of waiting requests for each replica, replicas are added.
    pub waiting_max: Requests,
    /// Replicas are removed only below this mean number of waiting requests.
    pub waiting_min: Requests,
    /// The signals for more replicas are averaged over this time.
    #[serde(with = "seconds")]
    #[schemars(with = "u64")]
    pub window_seconds: Span,
    /// The signals for fewer replicas are averaged over this time.
    #[serde(with = "seconds")]
    #[schemars(with = "u64")]
    pub down_window_seconds: Span,
    /// After a change of the number of replicas there is none for this time.
    #[serde(with = "seconds")]
    #[schemars(with = "u64")]
    pub settle_seconds: Span,
    /// Replicas that are added or removed at a time.
    pub step: Replicas,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            freeness_min: Freeness::from_whole(10),
            freeness_max: Freeness::from_whole(60),
            kv_max: Fraction(900),
            kv_min: Fraction(500),
            waiting_max: Requests(500),
            waiting_min: Requests(200),
            window_seconds: Span::from_seconds(5),
            down_window_seconds: Span::from_seconds(60),
            settle_seconds: Span::from_seconds(15),
            step: Replicas::ONE,
        }
    }
}
