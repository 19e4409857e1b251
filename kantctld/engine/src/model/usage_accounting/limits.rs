//! The limits on what may run at once: of a queue with its descendants, a user or an account in a
//! queue, a QoS, a user in a QoS, an account, a user in an account.
//! Source: Slurm, "Resource Limits" (GrpJobs, GrpTRES, GrpTRESRunMins, MaxJobsPerUser,
//! MaxTRESPerUser of QoS and associations); KAI Scheduler, "Scheduling Queues": a limit holds for
//! the queue and its ancestors.
//! Reads: running and asked jobs, GPUs, CPUs, and time limits. Never: what is free, nor quotas.
//! Knobs: `limits`, `limits_per_user`, `limits_per_account` of queues, QoS and accounts.
//!
//! A bound on a resource that a job does not ask for does not stop it, even if the bound is already
//! exceeded (it may have been lowered). Resources without a bound are not counted.
//!
//! Example, two nodes of 8 GPUs. In queue `q` a user may have 8 GPUs at once. User 7 has job 1 with
//! 6 GPUs running; their job 2 asks for 4 and waits: 10 would be more than 8. Job 3, of user 8,
//! asks for 4 as well and may start.

use super::claim::{AccountIndex, Claim, Principal, QosIndex};
use super::minutes::{Minutes, PER_MINUTE};
use super::names::Names;
use super::tree::{QueueIndex, Tree};
use common::id::Uid;
use common::policy::{Limits, Policy};
use common::reason::{Bound, Counted, WaitReason, What};
use common::time::{Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The jobs that a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Queue(QueueIndex),
    UserInQueue(QueueIndex, Uid),
    AccountInQueue(QueueIndex, AccountIndex),
    Qos(QosIndex),
    UserInQos(QosIndex, Uid),
    Account(AccountIndex),
    UserInAccount(AccountIndex, Uid),
}

impl Holder {
    /// Whether jobs of this party are counted.
    fn counts(self, tree: &Tree, who: Principal) -> bool {
        let is_below = |at: QueueIndex| who.queue.is_some_and(|own| tree.path(own).contains(&at));
        match self {
            Self::Queue(at) => is_below(at),
            Self::UserInQueue(at, user) => who.user == user && is_below(at),
            Self::AccountInQueue(at, account) => who.account == Some(account) && is_below(at),
            Self::Qos(at) => who.qos == Some(at),
            Self::UserInQos(at, user) => who.user == user && who.qos == Some(at),
            Self::Account(at) => who.account == Some(at),
            Self::UserInAccount(at, user) => who.user == user && who.account == Some(at),
        }
    }
}

/// What the counted jobs have at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Sum {
    jobs: u64,
    gpu_milli: u64,
    cpus: u64,
    minutes: Minutes,
}

impl Sum {
    fn is_empty(&self) -> bool {
        (self.jobs, self.gpu_milli, self.cpus) == (0, 0, 0) && self.minutes.is_empty()
    }
}

/// All limits of a queue, a QoS or an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Rules {
    all: Limits,
    per_user: Limits,
    per_account: Limits,
}

/// All limits, and the sums that they bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LimitUsage {
    queues: Arc<Vec<Rules>>,
    qos: Arc<Vec<Rules>>,
    accounts: Arc<Vec<Rules>>,
    sums: BTreeMap<Holder, Sum>,
    /// The holders for which sums are kept, with their limits; `None`: all.
    only: Option<Vec<(Holder, Limits)>>,
}

impl LimitUsage {
    pub fn new(policy: &Policy, tree: &Tree, names: &Names) -> Self {
        let mut queues = vec![Rules::default(); tree.len()];
        for queue in policy.queues.iter().rev() {
            if let Some(at) = tree.index(&queue.name) {
                queues[at.0] = Rules {
                    all: queue.limits,
                    per_user: queue.limits_per_user,
                    per_account: queue.limits_per_account,
                };
            }
        }
        let rules = |all, per_user| Rules { all, per_user, per_account: Limits::default() };
        let mut qos = vec![Rules::default(); names.qos_count()];
        for one in policy.qos.iter().rev() {
            if let Some(at) = names.qos(&one.name) {
                qos[at.0] = rules(one.limits, one.limits_per_user);
            }
        }
        let mut accounts = vec![Rules::default(); policy.accounts.len()];
        for one in policy.accounts.iter().rev() {
            if let Some(at) = names.account(&one.name) {
                accounts[at.0] = rules(one.limits, one.limits_per_user);
            }
        }
        let (queues, qos, accounts) = (Arc::new(queues), Arc::new(qos), Arc::new(accounts));
        Self { queues, qos, accounts, sums: BTreeMap::new(), only: None }
    }

    /// The same queues without limits.
    pub fn without_limits(&self) -> Self {
        let queues = Arc::new(vec![Rules::default(); self.queues.len()]);
        let (qos, accounts) = (Arc::default(), Arc::default());
        Self { queues, qos, accounts, sums: BTreeMap::new(), only: None }
    }

    /// The same limits, with sums only for holders that count this principal.
    pub fn for_principal(&self, tree: &Tree, who: Principal) -> Self {
        let (queues, qos, accounts) =
            (self.queues.clone(), self.qos.clone(), self.accounts.clone());
        let only: Vec<(Holder, Limits)> = bounds(&queues, &qos, &accounts, tree, who)
            .map(|(holder, limits)| (holder, *limits))
            .collect();
        let known =
            |(holder, _): &(Holder, Limits)| Some((*holder, self.sums.get(holder)?.clone()));
        let sums = only.iter().filter_map(known).collect();
        Self { queues, qos, accounts, sums, only: Some(only) }
    }

    /// Adds a running job; it ends at its time limit.
    pub fn add(&mut self, tree: &Tree, claim: &Claim, ends_by: Option<Time>) {
        self.change(tree, claim.who, |sum, limits| {
            sum.jobs = sum.jobs.wrapping_add(u64::from(claim.jobs));
            sum.gpu_milli = sum.gpu_milli.wrapping_add(claim.gpu_milli());
            sum.cpus = sum.cpus.wrapping_add(u64::from(claim.cpus.0));
            if let Some(end) = ends_by.filter(|_| limits.gpu_minutes.is_some()) {
                sum.minutes.add(claim.gpu_milli(), end);
            }
        });
    }

    /// Takes back one [`Self::add`].
    pub fn remove(&mut self, tree: &Tree, claim: &Claim, ends_by: Option<Time>) {
        self.change(tree, claim.who, |sum, limits| {
            sum.jobs = sum.jobs.wrapping_sub(u64::from(claim.jobs));
            sum.gpu_milli = sum.gpu_milli.wrapping_sub(claim.gpu_milli());
            sum.cpus = sum.cpus.wrapping_sub(u64::from(claim.cpus.0));
            if let Some(end) = ends_by.filter(|_| limits.gpu_minutes.is_some()) {
                sum.minutes.remove(claim.gpu_milli(), end);
            }
        });
    }

    /// Changes the sums of all limits that count this principal.
    fn change(&mut self, tree: &Tree, who: Principal, change: impl Fn(&mut Sum, &Limits)) {
        let Self { queues, qos, accounts, sums, only } = self;
        let mut one = |holder: Holder, limits: &Limits| {
            let sum = sums.entry(holder).or_default();
            change(sum, limits);
            if sum.is_empty() {
                sums.remove(&holder);
            }
        };
        match only {
            None => bounds(queues, qos, accounts, tree, who)
                .for_each(|(holder, limits)| one(holder, limits)),
            Some(only) => only
                .iter()
                .filter(|(holder, _)| holder.counts(tree, who))
                .for_each(|(holder, limits)| one(*holder, limits)),
        }
    }

    /// The first limit that the job would exceed if it started now with this time limit.
    pub fn check(
        &self,
        tree: &Tree,
        names: &Names,
        claim: &Claim,
        time_limit: Option<Span>,
        now: Time,
    ) -> Result<(), WaitReason> {
        let nothing = Sum::default();
        let Self { queues, qos, accounts, sums, .. } = self;
        for (holder, limits) in bounds(queues, qos, accounts, tree, claim.who) {
            let sum = sums.get(&holder).unwrap_or(&nothing);
            if let Some(counted) = exceeded(limits, sum, claim, time_limit, now) {
                let bound = bound_of_holder(holder, tree, names);
                return Err(WaitReason::LimitReached { bound, counted });
            }
        }
        Ok(())
    }
}

/// The holders that count this principal, with their limits; those without any limit are left out.
fn bounds<'a>(
    queues: &'a [Rules],
    qos: &'a [Rules],
    accounts: &'a [Rules],
    tree: &'a Tree,
    who: Principal,
) -> impl Iterator<Item = (Holder, &'a Limits)> + use<'a> {
    let path = who.queue.map(|queue| tree.path(queue)).unwrap_or_default();
    let in_queues = path.iter().flat_map(move |at| {
        let rules = &queues[at.0];
        let account = who.account.map(|account| Holder::AccountInQueue(*at, account));
        [
            (Some(Holder::Queue(*at)), &rules.all),
            (Some(Holder::UserInQueue(*at, who.user)), &rules.per_user),
            (account, &rules.per_account),
        ]
    });
    let in_qos = who.qos.and_then(|at| Some((at, qos.get(at.0)?))).into_iter();
    let in_qos = in_qos.flat_map(move |(at, rules)| {
        [
            (Some(Holder::Qos(at)), &rules.all),
            (Some(Holder::UserInQos(at, who.user)), &rules.per_user),
        ]
    });
    let in_account = who.account.and_then(|at| Some((at, accounts.get(at.0)?))).into_iter();
    let in_account = in_account.flat_map(move |(at, rules)| {
        [
            (Some(Holder::Account(at)), &rules.all),
            (Some(Holder::UserInAccount(at, who.user)), &rules.per_user),
        ]
    });
    let all = in_queues.chain(in_qos).chain(in_account);
    all.filter_map(|(holder, limits)| Some((holder?, limits)))
        .filter(|(_, limits)| !limits.is_empty())
}

fn exceeded(
    limits: &Limits,
    sum: &Sum,
    claim: &Claim,
    time_limit: Option<Span>,
    now: Time,
) -> Option<Counted> {
    let gpus = limits.gpus.map(|gpus| u64::from(gpus.0) * 1000);
    let cpus = limits.cpus.map(|cpus| u64::from(cpus.0));
    [
        (What::Jobs, limits.jobs.map(u64::from), sum.jobs, u64::from(claim.jobs)),
        (What::Gpus, gpus, sum.gpu_milli, claim.gpu_milli()),
        (What::Cpus, cpus, sum.cpus, u64::from(claim.cpus.0)),
    ]
    .into_iter()
    .find_map(|(what, limit, used, asked)| {
        let limit = limit.filter(|limit| asked > 0 && used.saturating_add(asked) > *limit)?;
        Some(Counted { what, gpu_kind: None, limit, used, asked })
    })
    .or_else(|| minutes_exceeded(limits.gpu_minutes?, &sum.minutes, claim, time_limit, now))
}

/// The bound on GPU-minutes, if the job would exceed it. The numbers returned are rounded up to
/// whole minutes; the decision is exact.
fn minutes_exceeded(
    limit: u64,
    minutes: &Minutes,
    claim: &Claim,
    time_limit: Option<Span>,
    now: Time,
) -> Option<Counted> {
    let gpus = u128::from(claim.gpu_milli());
    let asked = time_limit.map(|span| gpus * u128::from(span.0));
    let used = minutes.left(now);
    let fits = |asked| used.saturating_add(asked) <= u128::from(limit) * PER_MINUTE;
    if gpus == 0 || asked.is_some_and(fits) {
        return None;
    }
    let whole = |amount: u128| u64::try_from(amount.div_ceil(PER_MINUTE)).unwrap_or(u64::MAX);
    let asked = asked.map_or(Counted::WITHOUT_END, whole);
    Some(Counted { what: What::GpuMinutes, gpu_kind: None, limit, used: whole(used), asked })
}

fn bound_of_holder(holder: Holder, tree: &Tree, names: &Names) -> Bound {
    let queue = |at| tree.name(at).clone();
    match holder {
        Holder::Queue(at) => Bound::Queue(queue(at)),
        Holder::UserInQueue(at, user) => Bound::UserInQueue(user, queue(at)),
        Holder::AccountInQueue(at, account) => {
            Bound::AccountInQueue(names.account_name(account).clone(), queue(at))
        }
        Holder::Qos(at) => Bound::Qos(names.qos_name(at).clone()),
        Holder::UserInQos(at, user) => Bound::UserInQos(user, names.qos_name(at).clone()),
        Holder::Account(at) => Bound::Account(names.account_name(at).clone()),
        Holder::UserInAccount(at, user) => {
            Bound::UserInAccount(user, names.account_name(at).clone())
        }
    }
}

#[cfg(test)]
mod tests;
