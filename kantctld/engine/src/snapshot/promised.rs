//! What waiting jobs were promised, and where something came free since. Never makes a promise; a
//! round does.

use super::Snapshot;
use crate::backfill::freed::Freed;
use crate::halfway::Halfway;
use common::id::{JobKey, NodeName};
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a waiting job was promised in an earlier round: a start, on certain nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Not later than this, if every job keeps its time limit.
    pub at: Time,
    /// On these nodes; empty where any that hold it will do.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// Others were made to yield for it: until they are gone nobody else gets what comes free on
    /// these nodes, and `at` is when that was decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yielded: bool,
}

impl Promise {
    /// A start by that time, on these nodes, for which nobody yields.
    pub(crate) const fn of(at: Time, nodes: Vec<NodeName>) -> Self {
        Self { at, nodes, yielded: false }
    }
}

impl Snapshot {
    /// Something came free, or may be used that was not.
    pub(super) fn loosen(&mut self) {
        self.is_looser = true;
        self.halfway.is_freed = true;
    }

    pub(super) fn loosen_everywhere(&mut self) {
        self.loosen();
        self.forget_full();
        self.freed = Freed::Everywhere;
    }

    /// What was promised there is free.
    pub(super) fn free_promised(&mut self, nodes: &[NodeName]) {
        for at in nodes.iter().filter_map(|name| self.floor.find(name)) {
            self.freed.add(at);
        }
    }

    /// Nothing is promised to this job any more. Says whether anything was.
    pub(super) fn unpromise(&mut self, key: JobKey) -> bool {
        let promise = self.promises.remove(&key);
        if let Some(promise) = &promise {
            self.free_promised(&promise.nodes);
        }
        promise.is_some()
    }

    /// What the last round promised; the next one keeps it.
    pub fn set_promises(&mut self, promises: BTreeMap<JobKey, Promise>) {
        // What was kept for a job that still waits and is kept no more is free for others.
        let is_freed = |key: &JobKey| !promises.contains_key(key) && self.line.get(*key).is_some();
        let is_looser = self.promises.keys().any(is_freed);
        if self.is_looser && self.halfway.is_empty() {
            // That round asked everybody.
            self.freed = Freed::nowhere();
        }
        self.is_looser = is_looser;
        let before = std::mem::replace(&mut self.promises, promises);
        for (key, promise) in &before {
            if self.promises.get(key) != Some(promise) {
                // Where a promise was moved away from, those before it may find room, too.
                self.is_looser |= !promise.nodes.is_empty();
                self.free_promised(&promise.nodes);
            }
        }
    }

    /// How far the last round came; the next one goes on from there.
    pub fn set_halfway(&mut self, halfway: Halfway) {
        if !halfway.is_empty() {
            // Not everybody was asked.
            self.freed = Freed::Everywhere;
        }
        self.halfway = halfway;
    }
}
