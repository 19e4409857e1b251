//! In which order a queue's jobs are considered, and what happens behind one that has no room.
//! Never computes a priority; `engine::order` does.

use serde::{Deserialize, Serialize};

/// In which order jobs are considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Queue and QoS priority, then nice, then who has waited longest: ranked, not weighed.
    #[default]
    Fifo,
    /// A weighted sum of factors ([`Factors`]; Slurm's multifactor priority).
    Multifactor,
}

/// What happens behind the first job of a queue that has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// Nobody of its queue passes (strict FIFO; Kueue's StrictFIFO).
    Wait,
    /// Whoever fits passes (best-effort FIFO; Kueue's BestEffortFIFO). Large jobs may starve.
    Pass,
    /// Whoever fits passes if that delays no reservation ([`crate::policy::Backfill`]).
    #[default]
    Backfill,
}

/// The weights of multifactor priority. Each factor lies between 0 and 1; the sum of weight times
/// factor is the priority (Slurm, "Multifactor Priority Plugin").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Factors {
    /// For the time waited, up to `age_max_seconds`.
    pub age: u32,
    /// A job is fully aged after so many seconds.
    pub age_max_seconds: u64,
    /// For the share of the cluster's GPUs (of its CPUs, where there are none) asked for.
    pub size: u32,
    /// Small jobs get the size factor instead of large ones.
    pub favor_small: bool,
    /// For the queue's priority, against the highest of any queue.
    pub queue: u32,
    /// For the QoS's priority, against the highest of any QoS.
    pub qos: u32,
    /// For having used less than one's share (2^(-used/share)).
    pub fair_share: u32,
    /// Usage counts half after so many hours.
    pub half_life_hours: u32,
    /// Where queues share fairly: how strongly past use counts against a queue's part of what
    /// nobody is owed, in hundredths; 0: not at all, and it is not recorded.
    #[serde(skip_serializing_if = "is_off")]
    pub past_use_percent: u32,
}

const fn is_off(percent: &u32) -> bool {
    *percent == 0
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
