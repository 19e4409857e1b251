//! The order in which a queue's jobs are considered, and the treatment of jobs behind one without
//! room.

use crate::serde_skip::is_default;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order in which jobs are considered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By queue and QoS priority, then nice, then waiting time, compared one after the other.
    #[default]
    Fifo,
    /// A weighted sum of factors ([`Factors`]; Slurm's multifactor priority).
    Multifactor,
}

/// The treatment of jobs behind the first job of a queue that has no room.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// No job of the queue starts ahead of it (strict FIFO; Kueue's StrictFIFO).
    Wait,
    /// Any job that fits starts (best-effort FIFO; Kueue's BestEffortFIFO). Large jobs may starve.
    Pass,
    /// Any job that fits and delays no planned start ([`crate::policy::Backfill`]) starts.
    #[default]
    Backfill,
}

/// The weights of multifactor priority. Each factor lies between 0 and 1; the sum of weight times
/// factor is the priority (Slurm, "Multifactor Priority Plugin").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Factors {
    /// For the time waited, up to `age_max_seconds`.
    pub age: u32,
    /// The waiting time at which the age factor reaches 1.
    pub age_max_seconds: u64,
    /// For the requested share of the cluster's GPUs (of its CPUs, in a cluster without GPUs).
    pub size: u32,
    /// The size factor favors small jobs instead of large ones.
    pub favor_small: bool,
    /// For the queue's priority, relative to the highest of any queue.
    pub queue: u32,
    /// For the QoS's priority, relative to the highest of any QoS.
    pub qos: u32,
    /// For an account's usage below its share (2^(-used/share)).
    pub fair_share: u32,
    /// The half-life of recorded usage.
    pub half_life_hours: u32,
    /// Under fair sharing: how strongly past usage reduces a queue's part of the surplus, in
    /// percent; 0: usage is neither considered nor recorded.
    #[serde(skip_serializing_if = "is_default")]
    pub past_use_percent: u32,
}

impl Default for Factors {
    fn default() -> Self {
        Self {
            age: 1_000,
            age_max_seconds: 7 * 86_400,
            size: 0,
            favor_small: false,
            queue: 10_000,
            qos: 10_000,
            fair_share: 5_000,
            half_life_hours: 7 * 24,
            past_use_percent: 0,
        }
    }
}
