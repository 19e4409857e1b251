//! What an event is about: a reader without a right to see all jobs or nodes gets only some events.

use common::id::{AccountName, JobId, QueueName, Uid};
use query::viewer::Viewer;
use state::Event;
use state::job::Record;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The owner of a job, and what else decides who sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whose {
    pub name: String,
    pub uid: Uid,
    pub account: Option<AccountName>,
    pub queue: Option<QueueName>,
}

/// The owners of jobs.
pub type Owners = BTreeMap<JobId, Arc<Whose>>;

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A job; `None` if it is no longer known whose it was.
    Job(Option<Arc<Whose>>),
    Node,
    /// What concerns all users.
    Cluster,
    /// A service, a token, a refused request: what concerns one user or the operators.
    Other,
}

impl Whose {
    pub fn of(record: &Record) -> Self {
        let spec = &record.spec;
        Self {
            name: spec.owner.name.clone(),
            uid: spec.owner.uid,
            account: spec.ask.account.clone(),
            queue: spec.ask.queue.clone(),
        }
    }
}

impl Subject {
    /// The subject of an event that is about no job.
    pub const fn of_no_job(event: &Event) -> Self {
        match event {
            Event::NodeRegistered { .. }
            | Event::NodeSilent { .. }
            | Event::NodeLost { .. }
            | Event::NodeDrained { .. }
            | Event::NodeResumed { .. } => Self::Node,
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
    pub fn is_for(&self, viewer: &Viewer) -> bool {
        match (self, viewer.jobs_limits()) {
            (Self::Cluster, _) => true,
            (Self::Node, _) => !viewer.hides_nodes(),
            (_, None) => true,
            (Self::Job(Some(whose)), Some(limits)) => {
                limits.has(whose.uid, whose.account.as_ref(), whose.queue.as_ref())
            }
            (Self::Job(None) | Self::Other, Some(_)) => false,
        }
    }
}
