//! The holders that the judge counts a job for, and their bounds.

use crate::model::job::{RunningJob, WaitingJob};
use common::id::{AccountName, QosName, QueueName, Uid};
use common::policy::queue::Queue;
use common::policy::{Limits, Policy};
use std::fmt;

/// The owner of a job.
pub(crate) struct Principal<'j> {
    pub queue: &'j QueueName,
    pub owner: Uid,
    pub account: Option<&'j AccountName>,
    pub qos: Option<&'j QosName>,
}

/// A holder: a party with a bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    All,
    /// A queue with its descendants, for its quota.
    Quota(QueueName),
    /// The same, for its limits.
    Queue(QueueName),
    UserInQueue(Uid, QueueName),
    AccountInQueue(AccountName, QueueName),
    Qos(QosName),
    UserInQos(Uid, QosName),
    Account(AccountName),
    UserInAccount(Uid, AccountName),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all jobs"),
            Self::Quota(queue) => write!(f, "quota of {queue}"),
            Self::Queue(queue) => write!(f, "queue {queue}"),
            Self::UserInQueue(user, queue) => write!(f, "user {user} in queue {queue}"),
            Self::AccountInQueue(account, queue) => write!(f, "account {account} in queue {queue}"),
            Self::Qos(qos) => write!(f, "QoS {qos}"),
            Self::UserInQos(user, qos) => write!(f, "user {user} in QoS {qos}"),
            Self::Account(account) => write!(f, "account {account}"),
            Self::UserInAccount(user, account) => write!(f, "user {user} in account {account}"),
        }
    }
}

/// Whether any limit or quota is set.
pub(crate) fn has_any_bound(policy: &Policy) -> bool {
    let limits = |all: &[&Limits]| all.iter().any(|limits| !limits.is_empty());
    policy.queues.iter().any(|queue| {
        limits(&[&queue.limits, &queue.limits_per_user, &queue.limits_per_account])
            || !queue.quota.amounts.is_empty()
            || !queue.quota.at_most.is_empty()
    }) || policy.qos.iter().any(|one| limits(&[&one.limits, &one.limits_per_user]))
        || policy.accounts.iter().any(|one| limits(&[&one.limits, &one.limits_per_user]))
}

/// The queue and its ancestors.
pub(crate) fn path<'a>(policy: &'a Policy, name: &QueueName) -> Vec<&'a Queue> {
    let find = |name: &QueueName| policy.queues.iter().find(|queue| queue.name == *name);
    let mut path: Vec<&Queue> = find(name).into_iter().collect();
    while let Some(above) = path.last().and_then(|last| find(last.parent.as_ref()?)) {
        if path.iter().any(|queue| queue.name == above.name) {
            break;
        }
        path.push(above);
    }
    path
}

/// The holders with limits that apply to this party, and the limits.
pub(crate) fn limits(policy: &Policy, principal: &Principal<'_>) -> Vec<(Who, Limits)> {
    let mut all = Vec::new();
    let user = principal.owner;
    for queue in path(policy, principal.queue) {
        let name = || queue.name.clone();
        all.push((Who::Queue(name()), queue.limits));
        all.push((Who::UserInQueue(user, name()), queue.limits_per_user));
        if let Some(account) = principal.account {
            all.push((Who::AccountInQueue(account.clone(), name()), queue.limits_per_account));
        }
    }
    for qos in policy.qos.iter().filter(|qos| Some(&qos.name) == principal.qos) {
        all.push((Who::Qos(qos.name.clone()), qos.limits));
        all.push((Who::UserInQos(user, qos.name.clone()), qos.limits_per_user));
    }
    for one in policy.accounts.iter().filter(|one| Some(&one.name) == principal.account) {
        all.push((Who::Account(one.name.clone()), one.limits));
        all.push((Who::UserInAccount(user, one.name.clone()), one.limits_per_user));
    }
    all.retain(|(_, limits)| !limits.is_empty());
    all
}

/// All holders that a job of this party counts for.
pub(crate) fn holders_counting(policy: &Policy, principal: &Principal<'_>) -> Vec<Who> {
    let limited = limits(policy, principal).into_iter().map(|(who, _)| who);
    let quotas =
        path(policy, principal.queue).into_iter().map(|queue| Who::Quota(queue.name.clone()));
    limited.chain(quotas).chain([Who::All]).collect()
}

pub(crate) fn principal_of_running(job: &RunningJob) -> Principal<'_> {
    let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
    Principal { queue: &job.queue, owner: job.owner, account, qos }
}

pub(crate) fn principal_of_waiting(job: &WaitingJob) -> Principal<'_> {
    let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
    Principal { queue: &job.queue, owner: job.owner, account, qos }
}
