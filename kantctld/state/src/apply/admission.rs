//! The rules that decide whether a job may wait in a queue. They are checked when the job is
//! submitted, and again when it is requeued after its end.

use crate::job::Record;
use crate::state::State;
use common::id::{AccountName, Gid, QueueName, Uid};
use common::job::{Ask, Owner};
use common::policy::Access;
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::reason::{BadRequest, Refusal};
use common::resource::{GpuRequest, Request};

#[derive(Debug, Clone, Copy)]
pub(super) struct Applicant<'a> {
    pub(super) owner: &'a Owner,
    pub(super) groups: &'a [Gid],
    /// Whether the user that asks is an operator, who may charge any account.
    pub(super) operator: bool,
}

impl Applicant<'_> {
    fn may_use(&self, access: &Access, account: Option<&AccountName>) -> bool {
        let Owner { uid, gid, .. } = self.owner;
        access.allows(*uid, self.groups, account) || access.groups.contains(gid)
    }

    /// Operators and root may charge any account: they could change its members anyway.
    fn may_charge(&self, account: &Account) -> bool {
        self.operator || self.owner.uid == Uid(0) || self.may_use(&account.access, None)
    }
}

/// Checks a request whose queue and time limit are filled in. It makes all checks except
/// [`find_queue`]'s.
///
/// # Errors
/// The first rule that the request violates.
pub(super) fn check(state: &State, who: &Applicant<'_>, ask: &Ask) -> Result<(), Refusal> {
    let queue = find_queue(state, ask)?;
    // First, so that naming another team's account opens no queue and no QoS.
    check_account(state, who, ask)?;
    check_access(state, who, queue, ask.account.as_ref())?;
    check_shared_gpus(queue, &ask.request)?;
    check_time_limits(queue, find_qos(state, ask)?, who, ask)?;
    check_deadline(state, ask)?;
    check_reservation(state, who, ask)
}

/// Whether a job could wait with another request. For forecasts only; `apply` does not call it.
///
/// # Errors
/// The first rule that the request violates.
pub fn check_could_wait(
    state: &State,
    record: &Record,
    operator: bool,
    ask: &Ask,
) -> Result<(), Refusal> {
    let (owner, groups) = (&record.spec.owner, &record.groups[..]);
    check(state, &Applicant { owner, groups, operator }, ask)
}

/// Refuses jobs of root unless the operator allows them.
///
/// # Errors
/// [`Refusal::RootJob`].
pub(super) fn check_owner(state: &State, owner: Uid) -> Result<(), Refusal> {
    let root_allowed = state.settings().is_some_and(|s| s.allow_root_jobs);
    if owner == Uid(0) && !root_allowed { Err(Refusal::RootJob) } else { Ok(()) }
}

/// The queue that a request names, or the default queue.
///
/// # Errors
/// [`Refusal::UnknownQueue`]; [`Refusal::BadAsk`] before the first configuration.
pub(super) fn find_queue<'a>(state: &'a State, ask: &Ask) -> Result<&'a Queue, Refusal> {
    let Some(name) = &ask.queue else {
        return state
            .queues()
            .iter()
            .find(|q| q.default)
            .ok_or_else(|| BadRequest::NoQueues.into());
    };
    state.queue(name).filter(|queue| !state.is_retired(&queue.name)).ok_or_else(|| {
        let open = state.queues().iter().filter(|queue| !state.is_retired(&queue.name));
        let known = open.map(|queue| queue.name.clone()).collect();
        Refusal::UnknownQueue { name: name.clone(), known }
    })
}

/// The QoS that a request names; `None` if it names none.
///
/// # Errors
/// [`Refusal::UnknownQos`].
pub(super) fn find_qos<'a>(state: &'a State, ask: &Ask) -> Result<Option<&'a Qos>, Refusal> {
    let Some(name) = &ask.qos else { return Ok(None) };
    let unknown = || {
        let all = state.settings().map_or(&[][..], |settings| &settings.qos);
        let known = all.iter().map(|qos| qos.name.clone()).collect();
        Refusal::UnknownQos { name: name.clone(), known }
    };
    state.qos(name).ok_or_else(unknown).map(Some)
}

/// The queue and all its ancestors must admit the user.
fn check_access(
    state: &State,
    who: &Applicant<'_>,
    queue: &Queue,
    account: Option<&AccountName>,
) -> Result<(), Refusal> {
    let mut at = Some(queue);
    // The settings have no cycles. The bound ends the loop if one slips in.
    for _ in 0..=state.queues().len() {
        let Some(here) = at else { break };
        if !who.may_use(&here.access, account) {
            let below = (here.name != queue.name).then(|| queue.name.clone());
            return Err(Refusal::QueueClosed { queue: here.name.clone(), below });
        }
        at = here.parent.as_ref().and_then(|parent: &QueueName| state.queue(parent));
    }
    Ok(())
}

fn accounts(state: &State) -> &[Account] {
    state.settings().map_or(&[][..], |settings| &settings.accounts)
}

/// The configured account of this name; `None` if no accounts are configured.
///
/// # Errors
/// [`Refusal::UnknownAccount`].
pub(super) fn find_account<'a>(
    state: &'a State,
    name: &AccountName,
) -> Result<Option<&'a Account>, Refusal> {
    let accounts = accounts(state);
    let found = accounts.iter().find(|account| account.name == *name);
    if found.is_some() || accounts.is_empty() {
        return Ok(found);
    }
    let known = accounts.iter().map(|account| account.name.clone()).collect();
    Err(Refusal::UnknownAccount { name: name.clone(), known })
}

/// The account for a job that names none: the first one of which its user is a member. Operators,
/// and users of an account that is open to all, are not members for that reason alone.
pub(super) fn default_account(state: &State, who: &Applicant<'_>) -> Option<AccountName> {
    let is_member = |account: &&Account| !account.is_open() && who.may_use(&account.access, None);
    accounts(state).iter().find(is_member).map(|account| account.name.clone())
}

/// If accounts are configured, a request may name only those, and only as a member.
fn check_account(state: &State, who: &Applicant<'_>, ask: &Ask) -> Result<(), Refusal> {
    let Some(name) = &ask.account else { return Ok(()) };
    let Some(account) = find_account(state, name)? else { return Ok(()) };
    if who.may_charge(account) {
        return Ok(());
    }
    let theirs = accounts(state).iter().filter(|account| who.may_charge(account));
    let open = theirs.map(|account| account.name.clone()).collect();
    Err(Refusal::AccountClosed { name: name.clone(), open })
}

/// Parts of GPUs are only for queues that allow them, because GPU memory is not isolated between
/// the jobs on one GPU.
fn check_shared_gpus(queue: &Queue, request: &Request) -> Result<(), Refusal> {
    match request.gpus {
        Some(GpuRequest::Parts(_)) if !queue.share_gpus => {
            Err(Refusal::WholeGpusOnly { queue: queue.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Checks that the queue and the QoS allow the time limit, and that the QoS admits the user.
fn check_time_limits(
    queue: &Queue,
    qos: Option<&Qos>,
    who: &Applicant<'_>,
    ask: &Ask,
) -> Result<(), Refusal> {
    if let (Some(limit), Some(asked)) = (queue.time_limit_max, ask.time_limit)
        && asked > limit
    {
        return Err(Refusal::TimeLimitTooLong { queue: queue.name.clone(), limit, asked });
    }
    let bound = queue.time_limit_max.or(qos.and_then(|qos| qos.time_limit_max));
    if let (Some(limit), None, true) = (bound, ask.time_limit, ask.unlimited) {
        return Err(BadRequest::Unlimited { limit }.into());
    }
    let Some(qos) = qos else { return Ok(()) };
    if !who.may_use(&qos.access, ask.account.as_ref()) {
        return Err(Refusal::QosClosed { name: qos.name.clone() });
    }
    match (qos.time_limit_max, ask.time_limit) {
        (Some(limit), Some(asked)) if asked > limit => {
            Err(Refusal::QosTimeLimit { name: qos.name.clone(), limit, asked })
        }
        _ => Ok(()),
    }
}

/// Checks that the job could end by its deadline if it started as early as it may.
fn check_deadline(state: &State, ask: &Ask) -> Result<(), Refusal> {
    let Some(deadline) = ask.deadline else { return Ok(()) };
    if deadline <= state.now {
        return Err(Refusal::DeadlinePassed { deadline });
    }
    let start = ask.begin_at.unwrap_or_default().max(state.now);
    match ask.time_limit {
        Some(limit) if start + limit > deadline => {
            Err(Refusal::DeadlineTooEarly { deadline, start, limit })
        }
        None if start >= deadline => Err(Refusal::DeadlinePassed { deadline }),
        _ => Ok(()),
    }
}

/// Checks that the reservation exists and admits the user.
fn check_reservation(state: &State, who: &Applicant<'_>, ask: &Ask) -> Result<(), Refusal> {
    let Some(name) = &ask.reservation else { return Ok(()) };
    let there_is = state.reservation(name).filter(|reservation| reservation.to > state.now);
    let reservation = there_is.ok_or_else(|| Refusal::UnknownReservation { name: name.clone() })?;
    if reservation.maintenance || !who.may_use(&reservation.access, ask.account.as_ref()) {
        return Err(Refusal::ReservationClosed { name: name.clone() });
    }
    Ok(())
}
