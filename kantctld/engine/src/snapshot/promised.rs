//! Promises to waiting jobs, and where resources were freed since they were made.

use super::Snapshot;
use crate::backfill::freed::Freed;
use crate::halfway::Halfway;
use common::id::{JobKey, NodeName};
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A promise of an earlier round to a waiting job: a start, on certain nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The latest start if every job keeps its time limit.
    pub at: Time,
    /// The nodes. Empty if any suitable nodes will do.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// Other jobs were preempted for it. Until they are gone, no other job gets what they free on
    /// these nodes, and `at` is the time of that decision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yielded: bool,
}

impl Promise {
    /// A promise without preemption.
    pub(crate) const fn of(at: Time, nodes: Vec<NodeName>) -> Self {
        Self { at, nodes, yielded: false }
    }
}

impl Snapshot {
    /// Notes that resources were freed or became usable.
    pub(super) fn loosen(&mut self) {
        self.is_looser = true;
        self.halfway.is_freed = true;
    }

    pub(super) fn loosen_everywhere(&mut self) {
        self.loosen();
        self.forget_full();
        self.freed = Freed::Everywhere;
    }

    /// Frees what was promised on these nodes.
    pub(super) fn free_promised(&mut self, nodes: &[NodeName]) {
        for at in nodes.iter().filter_map(|name| self.floor.find(name)) {
            self.freed.add(at);
        }
    }

    /// Removes this job's promise. Returns whether it had one.
    pub(super) fn unpromise(&mut self, key: JobKey) -> bool {
        let promise = self.promises.remove(&key);
        if let Some(promise) = &promise {
            self.free_promised(&promise.nodes);
        }
        promise.is_some()
    }

    /// Sets the promises of the last round, for the next one to keep.
    pub fn set_promises(&mut self, promises: BTreeMap<JobKey, Promise>) {
        // What was kept for a job that still waits, and is no longer kept, is free for others.
        let is_freed = |key: &JobKey| !promises.contains_key(key) && self.line.get(*key).is_some();
        let is_looser = self.promises.keys().any(is_freed);
        if self.is_looser && self.halfway.is_empty() {
            // The last round checked all jobs.
            self.freed = Freed::nowhere();
        }
        self.is_looser = is_looser;
        let before = std::mem::replace(&mut self.promises, promises);
        for (key, promise) in &before {
            if self.promises.get(key) != Some(promise) {
                // If a promise was moved to other nodes, jobs with earlier promises may find room
                // there, too.
                self.is_looser |= !promise.nodes.is_empty();
                self.free_promised(&promise.nodes);
            }
        }
    }

    /// Sets where the last round stopped. The next round continues there.
    pub fn set_halfway(&mut self, halfway: Halfway) {
        if !halfway.is_empty() {
            // The last round did not check all jobs.
            self.freed = Freed::Everywhere;
        }
        self.halfway = halfway;
    }
}
