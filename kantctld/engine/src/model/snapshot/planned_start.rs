//! Promises to waiting jobs, and where resources were freed since they were made.

use super::Snapshot;
use crate::model::cluster::freed::Freed;
use crate::model::resume_cursor::ResumeCursor;
use common::id::{JobKey, NodeName};
use common::serde_skip::is_default;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A promise of an earlier round to a waiting job: a start, on certain nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStart {
    /// The latest start if every job keeps its time limit.
    pub at: Time,
    /// An earlier time at which it was to start, the earliest since it has had a planned start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// The nodes. Empty if any suitable nodes will do.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// Other jobs were preempted for it. Until they are gone, no other job gets what they free on
    /// these nodes, and `at` is the time of that decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub yielded: bool,
}

impl PlannedStart {
    /// A promise without preemption.
    pub(crate) const fn without_preemption(at: Time, nodes: Vec<NodeName>) -> Self {
        Self { at, first: None, nodes, yielded: false }
    }

    /// The earliest time at which it was to start.
    pub(crate) fn earliest_planned(&self) -> Time {
        self.first.map_or(self.at, |first| first.min(self.at))
    }
}

impl Snapshot {
    /// Notes that resources were freed or became usable.
    pub(super) fn note_more_room(&mut self) {
        self.is_looser = true;
        self.resume_cursor.is_freed = true;
    }

    pub(super) fn note_more_room_everywhere(&mut self) {
        self.note_more_room();
        self.forget_full();
        self.freed = Freed::Everywhere;
    }

    /// Frees what was promised on these nodes.
    pub(super) fn free_planned(&mut self, nodes: &[NodeName]) {
        for at in nodes.iter().filter_map(|name| self.cluster.find(name)) {
            self.freed.add(at);
        }
    }

    /// Removes this job's promise. Returns whether it had one.
    pub(super) fn remove_planned_start(&mut self, key: JobKey) -> bool {
        let planned_start = self.planned_starts.remove(&key);
        if let Some(planned_start) = &planned_start {
            self.free_planned(&planned_start.nodes);
        }
        planned_start.is_some()
    }

    /// Sets the promises of the last round, for the next one to keep.
    pub fn set_planned_starts(&mut self, planned_starts: BTreeMap<JobKey, PlannedStart>) {
        // What was kept for a job that still waits, and is no longer kept, is free for others.
        let is_freed =
            |key: &JobKey| !planned_starts.contains_key(key) && self.wait_queue.get(*key).is_some();
        let is_looser = self.planned_starts.keys().any(is_freed);
        if self.is_looser && self.resume_cursor.is_empty() {
            // The last round checked all jobs.
            self.freed = Freed::nowhere();
        }
        self.is_looser = is_looser;
        let before = std::mem::replace(&mut self.planned_starts, planned_starts);
        for (key, planned_start) in &before {
            if self.planned_starts.get(key) != Some(planned_start) {
                // If a promise was moved to other nodes, jobs with earlier promises may find room
                // there, too.
                self.is_looser |= !planned_start.nodes.is_empty();
                self.free_planned(&planned_start.nodes);
            }
        }
    }

    /// Sets where the last round stopped. The next round continues there.
    pub fn set_resume_cursor(&mut self, resume_cursor: ResumeCursor) {
        if !resume_cursor.is_empty() {
            // The last round did not check all jobs.
            self.freed = Freed::Everywhere;
        }
        self.resume_cursor = resume_cursor;
    }
}
