//! What a snapshot can be asked. Never changes it.

use super::{NodeSnapshot, Promise, RunningJob, Snapshot, WaitingJob};
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
    pub fn waiting(&self, key: JobKey) -> Option<&Arc<WaitingJob>> {
        self.line.get(key)
    }

    /// All waiting jobs, by key.
    pub fn all_waiting(&self) -> impl Iterator<Item = &Arc<WaitingJob>> {
        self.line.all()
    }

    /// How many jobs wait.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.line.len()
    }

    /// A job that holds something.
    #[must_use]
    pub fn running(&self, key: JobKey) -> Option<&Arc<RunningJob>> {
        self.running.get(&key)
    }

    /// All jobs that hold something, by key.
    pub fn all_running(&self) -> impl ExactSizeIterator<Item = &Arc<RunningJob>> {
        self.running.values()
    }

    /// The tasks of an array that hold something.
    pub(crate) fn running_of(&self, job: JobId) -> impl Iterator<Item = &Arc<RunningJob>> {
        let first = JobKey { job, index: None };
        let running = self.running.range(first..).map(|(_, running)| running);
        running.take_while(move |running| running.key.job == job)
    }

    /// A node that is in its group, and the jobs that hold something there.
    pub(crate) fn node_and_jobs(
        &self,
        name: &NodeName,
    ) -> Option<(NodeSnapshot, impl Iterator<Item = &Arc<RunningJob>>)> {
        let node = self.floor.node(self.floor.find(name)?);
        let holders = node.holders.iter().filter_map(|holder| self.running(holder.key));
        Some((node.snapshot(), holders))
    }

    /// Are all nodes in their groups, and what all have and hold added up?
    pub(crate) const fn is_laid_out(&self) -> bool {
        self.floor.is_laid_out() && !self.is_capacity_old
    }

    /// All nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSnapshot> {
        self.floor.snapshots()
    }

    /// The operators' bookings, by name.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }

    /// What was promised to waiting jobs in an earlier round.
    #[must_use]
    pub const fn promises(&self) -> &BTreeMap<JobKey, Promise> {
        &self.promises
    }

    /// When jobs were made to move, in the last hour.
    pub(crate) fn moves(&self) -> &[Time] {
        &self.moves
    }

    /// Is this job's wait reason that of its class of alike jobs?
    pub(crate) fn class_of(&self, key: JobKey) -> Option<crate::line::ClassId> {
        self.line.class_of(key)
    }
}
