//! Who asks, and what `private` in kantctld.toml hides from them.

use common::config::Private;
use common::id::{AccountName, JobKey, NodeName, QueueName, Uid};
use common::job::Ask;
use common::reason::WaitReason;
use state::State;
use state::job::Record;
use std::collections::BTreeSet;

/// A reader of views. By default, one who sees everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Viewer(Option<Limits>);

/// A user, what is hidden, and what the user sees nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub uid: Uid,
    pub hidden: BTreeSet<Private>,
    /// The queues of which the user sees all jobs, with those below them.
    pub queues: BTreeSet<QueueName>,
    /// The accounts of which the user sees all jobs.
    pub accounts: BTreeSet<AccountName>,
}

impl Viewer {
    pub const ALL: Self = Self(None);

    #[must_use]
    pub const fn limited(limits: Limits) -> Self {
        Self(Some(limits))
    }

    /// The limits, if jobs of others are hidden.
    #[must_use]
    pub fn jobs_limits(&self) -> Option<&Limits> {
        self.limits_if_hidden(Private::Jobs)
    }

    /// The limits, if use by others is hidden: also where their jobs are, since a report can have
    /// a row for each job.
    #[must_use]
    pub fn usage_limits(&self) -> Option<&Limits> {
        self.limits_if_hidden(Private::Usage).or_else(|| self.jobs_limits())
    }

    #[must_use]
    pub fn hides_jobs(&self) -> bool {
        self.jobs_limits().is_some()
    }

    #[must_use]
    pub fn hides_nodes(&self) -> bool {
        self.limits_if_hidden(Private::Nodes).is_some()
    }

    /// Whether the reader sees a node: where nodes are hidden, those of own jobs and of jobs that
    /// they coordinate.
    #[must_use]
    pub fn sees_node(&self, state: &State, name: &NodeName) -> bool {
        let has_job = |limits: &Limits| {
            let jobs = state.ledger().holders(name).filter_map(|id| state.job(id.key.job));
            jobs.into_iter().any(|record| limits.has_job(record))
        };
        self.limits_if_hidden(Private::Nodes).is_none_or(has_job)
    }

    fn limits_if_hidden(&self, what: Private) -> Option<&Limits> {
        self.0.as_ref().filter(|limits| limits.hidden.contains(&what))
    }

    #[must_use]
    pub fn sees(&self, record: &Record) -> bool {
        self.sees_job_of(record.spec.owner.uid, &record.spec.ask)
    }

    /// Whether the reader sees a job of this user with this request.
    #[must_use]
    pub fn sees_job_of(&self, uid: Uid, ask: &Ask) -> bool {
        let has = |limits: &Limits| limits.covers(uid, ask.account.as_ref(), ask.queue.as_ref());
        self.jobs_limits().is_none_or(has)
    }

    /// Whether the reader sees what a service of this user is.
    #[must_use]
    pub fn sees_service_of(&self, uid: Uid) -> bool {
        self.jobs_limits().is_none_or(|limits| limits.uid == uid)
    }

    /// Whether the reader sees this job. One that is not there is not seen.
    #[must_use]
    pub fn sees_key(&self, state: &State, key: JobKey) -> bool {
        !self.hides_jobs() || state.job(key.job).is_some_and(|record| self.sees(record))
    }

    /// A reason without the jobs that the reader does not see.
    #[must_use]
    pub fn visible_reason(&self, state: &State, reason: WaitReason) -> WaitReason {
        match self.hides_jobs() {
            true => reason.without_hidden_jobs(|key| !self.sees_key(state, key)),
            false => reason,
        }
    }
}

/// What the controller says about a node, without what a job or its programs said, which follows
/// the first colon.
#[must_use]
pub fn without_details(words: &str) -> &str {
    words.split_once(':').map_or(words, |(first, _)| first)
}

impl Limits {
    fn has_job(&self, record: &Record) -> bool {
        let (owner, ask) = (&record.spec.owner, &record.spec.ask);
        self.covers(owner.uid, ask.account.as_ref(), ask.queue.as_ref())
    }

    /// Whether something of this user, account and queue is not hidden.
    #[must_use]
    pub fn covers(
        &self,
        uid: Uid,
        account: Option<&AccountName>,
        queue: Option<&QueueName>,
    ) -> bool {
        self.uid == uid
            || account.is_some_and(|name| self.accounts.contains(name))
            || queue.is_some_and(|name| self.queues.contains(name))
    }
}
