//! What an event is about: a reader without a right to see all jobs or nodes gets only some events.

use common::id::{AccountName, JobId, JobKey, QueueName, ServiceName, Uid};
use query::viewer::{Limits, Viewer};
use state::Event;
use state::job::Record;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The owner of a job, and what else decides who sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOwnership {
    pub name: String,
    pub uid: Uid,
    pub account: Option<AccountName>,
    pub queue: Option<QueueName>,
}

/// JobOwnership the jobs and services are that events are about.
#[derive(Debug, Default)]
pub struct Owners {
    pub jobs: BTreeMap<JobId, Arc<JobOwnership>>,
    /// Jobs that are no longer in the state.
    pub forgotten: BTreeMap<JobId, Uid>,
    pub services: BTreeMap<ServiceName, Uid>,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A job; `None` if it is no longer known whose it was.
    Job(Option<Arc<JobOwnership>>),
    /// What concerns one user: a service, a token, a job that is no longer known.
    User(Uid),
    Node,
    /// What concerns all users.
    Cluster,
    /// A removed service, an invitation, a refused request: what concerns the operators.
    Other,
}

impl JobOwnership {
    pub fn of(record: &Record) -> Self {
        let spec = &record.spec;
        Self {
            name: spec.owner.name.clone(),
            uid: spec.owner.uid,
            account: spec.ask.account.clone(),
            queue: spec.ask.queue.clone(),
        }
    }

    /// Whether a reader with these limits sees the job.
    pub fn is_seen(&self, limits: &Limits) -> bool {
        limits.covers(self.uid, self.account.as_ref(), self.queue.as_ref())
    }
}

impl Subject {
    /// The subject of an event about this job, or about none.
    pub fn of(event: &Event, job: Option<JobKey>, owners: &Owners) -> Self {
        if let Some(JobKey { job, .. }) = job {
            return match owners.forgotten.get(&job) {
                Some(uid) => Self::User(*uid),
                None => Self::Job(owners.jobs.get(&job).cloned()),
            };
        }
        match event {
            Event::TokenCreated { uid, .. } | Event::TokenRevoked { uid, .. } => Self::User(*uid),
            Event::ServiceChanged { name, .. } => match owners.services.get(name) {
                Some(uid) => Self::User(*uid),
                None => Self::Other,
            },
            Event::NodeEnrolled { .. }
            | Event::NodeRevoked { .. }
            | Event::NodeRegistered { .. }
            | Event::NodeSilent { .. }
            | Event::NodeLost { .. }
            | Event::NodeDrained { .. }
            | Event::NodeResumed { .. }
            | Event::NodeDataChanged { .. } => Self::Node,
            Event::Configured
            | Event::ReservationCreated { .. }
            | Event::ReservationChanged { .. }
            | Event::ReservationDeleted { .. }
            | Event::ReservationExpired { .. }
            | Event::RulesRaised { .. } => Self::Cluster,
            _ => Self::Other,
        }
    }

    /// The name of the owner of the job.
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::Job(whose) => whose.as_ref().map(|whose| whose.name.as_str()),
            _ => None,
        }
    }

    /// Whether a reader may have the event.
    pub fn is_visible_to(&self, viewer: &Viewer) -> bool {
        match (self, viewer.jobs_limits()) {
            (Self::Cluster, _) => true,
            (Self::Node, _) => !viewer.hides_nodes(),
            (_, None) => true,
            (Self::User(uid), Some(limits)) => limits.uid == *uid,
            (Self::Job(Some(whose)), Some(limits)) => whose.is_seen(limits),
            (Self::Job(None) | Self::Other, Some(_)) => false,
        }
    }
}
