//! What a queue is owed. Never compares it with what is used; `engine::admit` does.

use crate::gpu::GpuKind;
use crate::unit::{Bytes, Cpus, Gpus};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a queue lends what it does not use, and borrows from others that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuotaMode {
    /// It lends and borrows; what it lent comes back on demand.
    #[default]
    Shared,
    /// It does neither: its quota is kept for it, and is all it gets.
    Isolated,
}

/// Amounts of everything a quota speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Amounts {
    /// GPUs of each kind.
    pub gpus: BTreeMap<GpuKind, Gpus>,
    /// GPUs of any kind, all kinds together.
    pub gpus_any: Option<Gpus>,
    pub cpus: Option<Cpus>,
    pub memory: Option<Bytes>,
}

impl Amounts {
    /// Does it speak of nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The quota of a queue and all queues below it. What it does not speak of is not bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    pub mode: QuotaMode,
    /// What it is owed.
    pub amounts: Amounts,
    /// How far it may go by borrowing; what this does not speak of is not bounded.
    pub at_most: Amounts,
}
