//! A snapshot as plain lists, for files and for comparison. Rounds do not use it.

use super::{Growing, PlannedStart, Snapshot};
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::past_usage::QueueUse;
use crate::model::past_usage::Usage;
use crate::model::resume_cursor::ResumeCursor;
use common::id::JobKey;
use common::job::Moving;
use common::policy::Policy;
use common::reservation::Reservation;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plain {
    policy: Arc<Policy>,
    nodes: Vec<NodeSnapshot>,
    waiting: Vec<WaitingJob>,
    running: Vec<RunningJob>,
    #[serde(default)]
    reservations: Vec<Reservation>,
    #[serde(default)]
    planned_starts: BTreeMap<JobKey, PlannedStart>,
    #[serde(default)]
    resume_cursor: ResumeCursor,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    movable: Vec<WaitingJob>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    growing: Vec<Growing>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    moving: BTreeMap<JobKey, Moving>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    moves: Vec<Time>,
    #[serde(default)]
    trials_max: Option<u32>,
    #[serde(default)]
    usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queue_use: Vec<QueueUse>,
    #[serde(default)]
    is_looser: bool,
}

impl From<Plain> for Snapshot {
    fn from(plain: Plain) -> Self {
        let mut snapshot = Self::default();
        snapshot.set_policy(plain.policy);
        plain.nodes.iter().for_each(|node| snapshot.set_node(node));
        plain.running.into_iter().for_each(|job| snapshot.set_running(job));
        plain.waiting.into_iter().for_each(|job| snapshot.set_waiting(job));
        snapshot.set_reservations(plain.reservations);
        snapshot.set_usage(plain.usage);
        snapshot.set_queue_use(plain.queue_use);
        snapshot.planned_starts = plain.planned_starts;
        snapshot.resume_cursor = plain.resume_cursor;
        let movable = plain.movable.into_iter().map(|job| (job.key, Arc::new(job)));
        snapshot.movable = movable.collect();
        let growing = plain.growing.into_iter().map(|job| (job.asked.key, Arc::new(job)));
        snapshot.growing = growing.collect();
        (snapshot.moving, snapshot.moves) = (plain.moving, plain.moves);
        snapshot.trials_max = plain.trials_max;
        snapshot.is_looser = plain.is_looser;
        snapshot
    }
}

impl From<Snapshot> for Plain {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            nodes: snapshot.cluster.snapshots(),
            waiting: snapshot.wait_queue.all().map(|job| WaitingJob::clone(job)).collect(),
            running: snapshot.running.values().map(|job| RunningJob::clone(job)).collect(),
            reservations: snapshot.reservations.into_values().collect(),
            planned_starts: snapshot.planned_starts,
            resume_cursor: snapshot.resume_cursor,
            movable: snapshot.movable.values().map(|job| WaitingJob::clone(job)).collect(),
            growing: snapshot.growing.values().map(|job| Growing::clone(job)).collect(),
            moving: snapshot.moving,
            moves: snapshot.moves,
            trials_max: snapshot.trials_max,
            usage: snapshot.usage,
            queue_use: snapshot.queue_use,
            is_looser: snapshot.is_looser,
            policy: snapshot.policy,
        }
    }
}
