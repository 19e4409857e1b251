//! The rule `latency`: the replicas that keep the time to the first token (TTFT) and between tokens
//! (ITL) within bounds, from a profile of one replica.
//!
//! Source: NVIDIA Dynamo's planner, throughput-based scaling (`docs/planner`), and its defaults.

use super::unit::{Latency, Requests, TokenRate, Tokens, seconds};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of the rule. A role that only prefills has `ttft`, one that only decodes has `itl`.
/// A role that does both has both, and gets the larger number of replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Prefill>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itl: Option<Decode>,
    /// The load is averaged over this time. It is taken as the forecast for the next interval.
    #[serde(default = "LatencyRule::default_interval", with = "seconds")]
    #[schemars(with = "u64")]
    pub interval_seconds: Span,
    /// Replicas are removed when fewer have been enough for this time.
    #[serde(default = "LatencyRule::default_interval", with = "seconds")]
    #[schemars(with = "u64")]
    pub down_stabilisation_seconds: Span,
}

impl LatencyRule {
    /// The longest profile, of prefill and of each curve of decode.
    pub const POINTS_MAX: usize = 64;
    /// The most curves of a profile of decode.
    pub const CURVES_MAX: usize = 32;

    const fn default_interval() -> Span {
        Span::from_seconds(180)
    }
}

/// The bound on the time to the first token, and the profile of prefill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prefill {
    /// The bound, in milliseconds.
    #[serde(default = "Prefill::default_bound")]
    pub target_ms: Latency,
    /// Measured points, by rising `tokens_in`.
    pub profile: Vec<PrefillPoint>,
}

impl Prefill {
    const fn default_bound() -> Latency {
        Latency::whole(500)
    }
}

/// What one replica does with requests of this length and no others beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefillPoint {
    pub tokens_in: Tokens,
    pub ttft_ms: Latency,
    /// Of the whole replica, all its GPUs together.
    pub tokens_per_second: TokenRate,
}

/// The bound on the time between tokens, and the profile of decode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decode {
    /// The bound, in milliseconds.
    #[serde(default = "Decode::default_bound")]
    pub target_ms: Latency,
    /// Measured curves, by rising `context`.
    pub profile: Vec<DecodeCurve>,
}

impl Decode {
    const fn default_bound() -> Latency {
        Latency::whole(50)
    }
}

/// What one replica does with requests whose context has this mean length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodeCurve {
    pub context: Tokens,
    /// By rising `concurrency`.
    pub points: Vec<DecodePoint>,
}

/// What one replica does with a number of requests at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodePoint {
    pub concurrency: Requests,
    pub itl_ms: Latency,
    /// Of the whole replica, all its GPUs together.
    pub tokens_per_second: TokenRate,
}
