//! Quotas of queues.

use crate::gpu::GpuKind;
use crate::unit::{Bytes, Cpus, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Does a queue lend unused quota and borrow the unused quota of others?
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum QuotaMode {
    /// It lends and borrows; what it lent is reclaimed on demand.
    #[default]
    Shared,
    /// It does neither: its quota is reserved for it, and is all that it gets.
    Isolated,
}

/// Amounts of the resources under quota.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Amounts {
    pub gpus: BTreeMap<GpuKind, Gpus>,
    /// GPUs of all kinds together.
    pub gpus_any: Option<Gpus>,
    pub cpus: Option<Cpus>,
    pub memory: Option<Bytes>,
}

impl Amounts {
    /// Does it name no resource?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The quota of a queue and all queues below it. Resources that it does not name are unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quota {
    pub mode: QuotaMode,
    /// The guaranteed amounts.
    pub amounts: Amounts,
    /// The maximum with borrowing; resources that it does not name are unlimited.
    pub at_most: Amounts,
}
