//! Read access to a snapshot.

use super::{PlannedStart, Snapshot};
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::node_snapshot::NodeSnapshot;
use common::id::{JobId, JobKey, NodeName};
use common::policy::Policy;
use common::reservation::Reservation;
use common::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Snapshot {
    #[must_use]
    pub const fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    #[must_use]
    pub fn waiting_job(&self, key: JobKey) -> Option<&Arc<WaitingJob>> {
        self.wait_queue.get(key)
    }

    /// All waiting jobs, by key.
    pub fn all_waiting(&self) -> impl Iterator<Item = &Arc<WaitingJob>> {
        self.wait_queue.all()
    }

    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.wait_queue.len()
    }

    /// A job that holds resources.
    #[must_use]
    pub fn running_job(&self, key: JobKey) -> Option<&Arc<RunningJob>> {
        self.running.get(&key)
    }

    /// All jobs that hold resources, by key.
    pub fn all_running(&self) -> impl ExactSizeIterator<Item = &Arc<RunningJob>> {
        self.running.values()
    }

    /// The tasks of an array that hold resources.
    pub(crate) fn running_of(&self, job: JobId) -> impl Iterator<Item = &Arc<RunningJob>> {
        let first = JobKey { job, index: None };
        let running = self.running.range(first..).map(|(_, running)| running);
        running.take_while(move |running| running.key.job == job)
    }

    /// A node and the jobs that hold resources there.
    pub(crate) fn node_and_jobs(
        &self,
        name: &NodeName,
    ) -> Option<(NodeSnapshot, impl Iterator<Item = &Arc<RunningJob>>)> {
        let node = self.cluster.node(self.cluster.find(name)?);
        let holders = node.holders.iter().filter_map(|holder| self.running_job(holder.key));
        Some((node.snapshot(), holders))
    }

    /// Whether all nodes are in their groups, and the sums of capacity and holdings are current.
    pub(crate) const fn is_grouped(&self) -> bool {
        self.cluster.is_grouped() && !self.is_capacity_old
    }

    /// All nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSnapshot> {
        self.cluster.snapshots()
    }

    /// All reservations, by name.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }

    /// The promises to waiting jobs, from the last round.
    #[must_use]
    pub const fn planned_starts(&self) -> &BTreeMap<JobKey, PlannedStart> {
        &self.planned_starts
    }

    /// When jobs were moved, in the last hour.
    pub(crate) fn move_times(&self) -> &[Time] {
        &self.moves
    }

    /// The class of equivalent jobs with which this job shares its wait reason, if it has one.
    pub(crate) fn class_of(&self, key: JobKey) -> Option<crate::model::wait_queue::ClassId> {
        self.wait_queue.class_of(key)
    }
}
