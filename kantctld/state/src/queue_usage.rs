//! The past usage of each queue, measured like [`crate::usage`]. It is recorded if queues share
//! fairly and past use counts (`past_use_percent`). Integers by the hour let replicas agree, and
//! let a new half-life apply at once. Weighting and decay are up to the engine.

use crate::state::State;
use crate::usage::{Hour, Used, add};
use common::id::{JobKey, QueueName};
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

    fn charge(&mut self, queue: &QueueName, share: &Share, from: Time, to: Time) {
        let mut hours = self.0.remove(queue).unwrap_or_default();
        add(&mut hours, share, from, to);
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

/// Whether past use of queues counts.
pub(crate) fn counts(state: &State) -> bool {
    state.settings().is_some_and(|set| set.fair_sharing && set.factors.past_use_percent > 0)
}

/// Starts or stops the recording after new settings took effect.
pub(crate) fn configured(state: &mut State) {
    let since = state.queue_usage_since.unwrap_or(state.now);
    state.queue_usage_since = counts(state).then_some(since);
}

/// The time from which an allocation counts: not before past use began to count.
fn counted_from(state: &State, held_since: Time) -> Time {
    state.queue_usage_since.map_or(held_since, |since| held_since.max(since))
}

/// The usage of queues: what is recorded, and what current allocations add. Empty if past use does
/// not count.
#[must_use]
pub fn so_far(state: &State, now: Time) -> QueueUsages {
    if !counts(state) {
        return QueueUsages::default();
    }
    let mut usages = state.queue_usage().clone();
    for (node, held) in state.ledger().nodes() {
        for (id, _) in held.holders() {
            let run = state.element(id.key).and_then(|(_, element)| element.run.as_ref());
            let Some((run, queue)) = run.zip(queue_of(state, id.key)) else { continue };
            if let Some(rank) = run.rank(node) {
                let since = counted_from(state, run.since(rank));
                usages.charge(queue, &run.allocation.shares()[rank], since, now);
            }
        }
    }
    usages
}

/// Records the usage of a share that its node releases, held since `from`.
pub(crate) fn charge(state: &mut State, key: JobKey, share: &Share, from: Time) {
    let queue = queue_of(state, key).filter(|_| counts(state)).cloned();
    let (from, now) = (counted_from(state, from), state.now);
    if let Some(queue) = queue {
        state.queue_usage.charge(&queue, share, from, now);
    }
}

fn queue_of(state: &State, key: JobKey) -> Option<&QueueName> {
    state.job(key.job)?.spec.ask.queue.as_ref()
}
