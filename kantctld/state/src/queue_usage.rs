//! The past usage of each queue, measured like [`crate::usage`]. It is recorded if queues share
//! fairly and past use counts (`past_use_percent`). Integers by the hour let replicas agree, and
//! let a new half-life apply at once. Weighting and decay are up to the engine.

use crate::usage::{Hour, Used, add_share};
use common::id::QueueName;
use common::resource::Share;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The usage by the jobs of each queue, without those of queues below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueueUsages(BTreeMap<QueueName, BTreeMap<Hour, Used>>);

impl QueueUsages {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All queues with usage and their hours, both in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (&QueueName, &BTreeMap<Hour, Used>)> {
        self.0.iter()
    }

    pub(crate) fn charge(&mut self, queue: &QueueName, share: &Share, from: Time, to: Time) {
        let mut hours = self.0.remove(queue).unwrap_or_default();
        add_share(&mut hours, share, from, to);
        if !hours.is_empty() {
            self.0.insert(queue.clone(), hours);
        }
    }

    /// Drops hours that are too old, or all if past use does not count.
    pub(crate) fn forget(&mut self, now: Time, counts: bool) {
        let first = Hour::first_kept(now);
        for hours in self.0.values_mut() {
            hours.retain(|hour, _| counts && *hour >= first);
        }
        self.0.retain(|_, hours| !hours.is_empty());
    }
}
