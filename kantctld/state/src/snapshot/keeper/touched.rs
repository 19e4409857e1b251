//! What a batch of events touches, and how much is to be read for it.

use crate::event::{Event, ShareNews};
use crate::state::State;
use common::id::{JobId, JobKey, NodeName};
use common::job::PreemptReason;
use std::collections::BTreeSet;

/// What a batch of events touches.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub policy: bool,
    pub reservations: bool,
    pub moves: bool,
    pub nodes: BTreeSet<NodeName>,
    pub jobs: BTreeSet<JobKey>,
    /// Jobs whose request changed.
    pub asking: BTreeSet<JobId>,
}

/// Estimates the number of jobs and tasks that are read for these events.
pub(super) fn estimate_reads(state: &State, events: &[Event]) -> usize {
    let tasks = |job: &JobId| state.job(*job).map_or(0, |record| record.elements.len());
    let of = |event: &Event| match event {
        // Policy decides what all running jobs are.
        Event::Configured => state.job_counts().active as usize,
        Event::JobSubmitted { job, repeated: false, .. }
        | Event::JobUpdated { key: JobKey { job, .. }, .. }
        | Event::DependencyMoved { key: JobKey { job, index: None } } => tasks(job),
        _ => 1,
    };
    events.iter().map(of).sum()
}

impl Touched {
    pub fn all_but_jobs(state: &State) -> Self {
        let nodes = state.nodes().map(|(name, _)| name.clone()).collect();
        Self { policy: true, reservations: true, moves: true, nodes, ..Self::default() }
    }

    pub fn add(&mut self, state: &State, event: &Event) {
        match event {
            Event::Configured => self.policy = true,
            Event::JobSubmitted { job, repeated: false, .. } => {
                let record = state.job(*job);
                let keys = record.into_iter().flat_map(|r| r.elements.keys().map(|i| r.key(*i)));
                self.jobs.extend(keys);
            }
            Event::NodeRegistered { name }
            | Event::NodeSilent { name }
            | Event::NodeLost { name }
            | Event::NodeDrained { name, .. }
            | Event::NodeResumed { name, .. }
            | Event::NodeDataChanged { name } => {
                self.nodes.insert(name.clone());
            }
            Event::ReservationCreated { .. }
            | Event::ReservationChanged { .. }
            | Event::ReservationDeleted { .. }
            | Event::ReservationExpired { .. } => self.reservations = true,
            // Only the end of a share changes what its job holds.
            Event::StepReported { news, .. } if !matches!(news, ShareNews::Ended(..)) => {}
            Event::JobPreempts { why, .. } => self.moves |= *why == PreemptReason::Move,
            Event::JobStepsEnded { .. }
            | Event::JobReady { .. }
            | Event::RoundEntryRefused { .. }
            | Event::JobSubmitted { repeated: true, .. }
            | Event::JobForgotten { .. }
            | Event::ServiceChanged { .. }
            | Event::ServiceRemoved { .. }
            | Event::Invited { .. }
            | Event::InvitationWithdrawn { .. }
            | Event::NodeEnrolled { .. }
            | Event::NodeRevoked { .. }
            | Event::RulesRaised { .. }
            | Event::KeyStepBegun { .. }
            | Event::InvitationUsed { .. }
            | Event::TokenCreated { .. }
            | Event::TokenRevoked { .. }
            | Event::SubmitRefused { .. }
            | Event::CommandRefused(_) => {}
            // All unfinished tasks share the request.
            Event::JobUpdated { key, .. } => {
                self.jobs.extend(state.living.keys_of_job(key.job));
                self.asking.insert(key.job);
            }
            // Finished jobs had an event of their own.
            Event::DependencyMoved { key } => match key.index {
                Some(_) => self.jobs.extend([*key]),
                None => self.jobs.extend(state.living.keys_of_job(key.job)),
            },
            Event::JobHeld { .. }
            | Event::JobReleased { .. }
            | Event::JobStarted { .. }
            | Event::StepReported { .. }
            | Event::JobRunning { .. }
            | Event::JobSuspended { .. }
            | Event::JobResumed { .. }
            | Event::JobSaved { .. }
            | Event::JobResized { .. }
            | Event::JobGrowth { .. }
            | Event::JobEnded { .. }
            | Event::JobEndChanged { .. }
            | Event::JobDone { .. }
            | Event::JobRequeued { .. }
            | Event::JobDelayed { .. }
            | Event::JobHeldForFaults { .. } => self.jobs.extend(event.key()),
        }
    }
}
