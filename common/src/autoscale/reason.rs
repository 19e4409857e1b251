//! The reason of a decision: what was measured, the number of replicas that this needs, and what
//! kept the decision from that number.

use super::rule::Metric;
use super::unit::{
    Fraction, Freeness, Latency, Level, Replicas, RequestRate, Requests, TokenRate, Tokens,
};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a number of replicas is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    pub measure: Measure,
    /// In the order in which they applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

/// What a rule measured, and the replicas that this needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The policy has no rule.
    Fixed {
        replicas: Replicas,
    },
    /// No sample has the metric, so the number stays as it is.
    NoData {
        window: Span,
        replicas: Replicas,
    },
    Concurrency(Demand<Requests>),
    Rps(Demand<RequestRate>),
    Utilisation {
        metric: Metric,
        level: Level,
        window: Span,
        target: Level,
        tolerance: Fraction,
        replicas: Replicas,
    },
    Queue {
        signal: QueueSignal,
        window: Span,
        replicas: Replicas,
    },
    Latency {
        window: Span,
        rate: RequestRate,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<Stage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decode: Option<Stage>,
        replicas: Replicas,
    },
}

impl Measure {
    /// The replicas that the load keeps at their target. Without a load for each replica: those
    /// that the rule wants.
    #[must_use]
    pub fn load(&self) -> Fraction {
        let at_target = |load: u64, target: u64| {
            let replicas = u128::from(load) * 1000 / u128::from(target.max(1));
            Fraction(u64::try_from(replicas).unwrap_or(u64::MAX))
        };
        match self {
            Self::Concurrency(demand) => at_target(demand.load.0, demand.target.0),
            Self::Rps(demand) => at_target(demand.load.0, demand.target.0),
            Self::Fixed { replicas }
            | Self::NoData { replicas, .. }
            | Self::Utilisation { replicas, .. }
            | Self::Queue { replicas, .. }
            | Self::Latency { replicas, .. } => Fraction(u64::from(replicas.0) * 1000),
        }
    }
}

/// A load, and the part of it that one replica takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Demand<T> {
    /// The mean over `window`.
    pub load: T,
    pub window: Span,
    /// For each replica.
    pub target: T,
    pub utilisation: Fraction,
    pub replicas: Replicas,
}

/// The signal of the rule `queue` that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueSignal {
    FreenessLow {
        mean: Freeness,
        min: Freeness,
    },
    KvHigh {
        mean: Fraction,
        max: Fraction,
    },
    WaitingHigh {
        mean: Requests,
        max: Requests,
    },
    /// All signals allow fewer replicas. Those that were reported are named.
    Idle {
        freeness: Option<Freeness>,
        kv: Option<Fraction>,
        waiting: Option<Requests>,
    },
    /// Within the band.
    Within {
        freeness: Option<Freeness>,
        kv: Option<Fraction>,
        waiting: Option<Requests>,
    },
}

/// Prefill or decode: the tokens that arrive, and those that a replica takes within the bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// For each request.
    pub tokens: Tokens,
    /// What one replica takes.
    pub capacity: TokenRate,
    /// The measured latency by that of the profile; 1 if none was measured.
    pub correction: Fraction,
    pub bound: Latency,
    /// Whether the profile shows a latency within the bound.
    pub in_reach: bool,
    pub replicas: Replicas,
}

/// What kept a decision from the number that the load needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// A burst was less than `window` ago.
    Panic {
        window: Span,
        replicas: Replicas,
    },
    StepUp {
        replicas: Replicas,
    },
    StepDown {
        replicas: Replicas,
    },
    /// More have been needed within `window`.
    DownDelay {
        window: Span,
        replicas: Replicas,
    },
    /// Fewer have been enough within `window`.
    UpDelay {
        window: Span,
        replicas: Replicas,
    },
    /// The last change was less than `window` ago.
    Settling {
        window: Span,
        replicas: Replicas,
    },
    /// The last replica stays for this time after the last need.
    ZeroGrace {
        window: Span,
    },
    /// Requests are in flight or wait, and the rule wants no replica.
    Busy {
        requests: Requests,
    },
    /// The other role needs replicas too, or the ratio of the two roles has bounds.
    Ratio {
        replicas: Replicas,
    },
    Min {
        replicas: Replicas,
    },
    Max {
        replicas: Replicas,
    },
}
