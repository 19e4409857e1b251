//! `SubmitJob`: checks a submission, fills in queue, account and time limit, gives it an id.
//! The same request key of the same user gives the same job again, whatever else it holds.
//!
//! Never asks whether the job fits the nodes: that is the engine's to say and the leader's to ask
//! before it proposes, for the engine may change from version to version and `apply` may not.

use super::admission::{self, Applicant};
use crate::dependency;
use crate::event::Event;
use crate::job::{Element, Record};
use crate::living::Bounds;
use crate::remembered::{KnownRequest, State};
use common::id::{Gid, JobId, RequestKey};
use common::job::check::{self, AskError, ENVIRONMENT_BYTES_MAX};
use common::job::{Ask, Owner, Spec};
use common::reason::Refusal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest request key, in bytes.
const REQUEST_KEY_BYTES_MAX: usize = 64;

/// The most groups of a user (man 2 getgroups, NGROUPS_MAX).
const GROUPS_MAX: usize = 65_536;

/// A `SubmitJob`, by reference.
pub(super) struct Submission<'a> {
    pub(super) request_key: &'a RequestKey,
    pub(super) owner: &'a Owner,
    pub(super) groups: &'a [Gid],
    pub(super) operator: bool,
    pub(super) ask: &'a Ask,
    pub(super) script: &'a str,
    pub(super) environment: &'a str,
}

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    submission: &Submission<'_>,
) -> Result<(), Refusal> {
    let (uid, request_key) = (submission.owner.uid, submission.request_key);
    if let Some(known) = state.request(uid, request_key) {
        let job = known.job;
        let tasks = state.job(job).map_or(1, |record| count(record.elements.len()));
        events.push(Event::JobSubmitted { job, tasks, repeated: true });
        return Ok(());
    }
    check_who(state, submission)?;
    check_what(submission)?;
    let Submission { owner, groups, operator, .. } = *submission;
    let who = Applicant { owner, groups, operator };
    let ask = fill_in(state, &who, submission.ask)?;
    admission::check(state, &who, &ask)?;
    let ask = Ask { dependency: dependency::meant(state, &ask), ..ask };
    let numbers = ask.array.as_ref().map_or(0, |array| array.number_count());
    let id = state.last_job.0.checked_add(1).map(JobId);
    let Some((id, last)) = id.and_then(|id| Some((id, JobId(id.0.checked_add(numbers)?)))) else {
        return Err(Refusal::BadAsk { message: "there are no job ids left".to_owned() });
    };

    let elements: BTreeMap<_, _> = match &ask.array {
        None => BTreeMap::from([(None, Element::new(ask.hold))]),
        Some(array) => {
            array.indices().into_iter().map(|i| (Some(i), Element::new(ask.hold))).collect()
        }
    };
    let tasks = count(elements.len());
    state.living.check_room(uid, tasks)?;
    let own: Vec<_> = elements.keys().copied().collect();
    let standing = dependency::standing(state, &ask, &own)?;
    let script = state.blobs.keep(submission.script.as_bytes());
    let environment = state.blobs.keep(submission.environment.as_bytes());
    let spec = Spec { owner: submission.owner.clone(), script, environment, ask };
    let (bounds, groups) = (Bounds::of(&spec.ask), submission.groups.to_vec());
    let record = Record { id, numbers, spec, groups, submitted_at: state.now, standing, elements };
    state.ties.bind(&record, |job| state.jobs.contains_key(&job));
    state.ties.live(&record);
    let keys = record.elements.keys().map(|index| record.key(*index));
    keys.for_each(|key| state.living.insert(key, uid, bounds));
    state.jobs.insert(id, Arc::new(record));
    state.last_job = last;
    let known = KnownRequest { job: id, at: state.now };
    state.requests.entry(uid).or_default().insert(request_key.clone(), known);
    events.push(Event::JobSubmitted { job: id, tasks, repeated: false });
    Ok(())
}

fn count(elements: usize) -> u32 {
    u32::try_from(elements).unwrap_or(u32::MAX)
}

fn check_who(state: &State, submission: &Submission<'_>) -> Result<(), Refusal> {
    admission::check_owner(state, submission.owner.uid)?;
    if submission.ask.nice < 0 && !submission.operator {
        return Err(Refusal::NiceNegative);
    }
    Ok(())
}

fn check_what(submission: &Submission<'_>) -> Result<(), Refusal> {
    let key = &submission.request_key.0;
    if key.is_empty() || key.len() > REQUEST_KEY_BYTES_MAX || key.chars().any(char::is_control) {
        let message = format!(
            "the request key must be 1 to {REQUEST_KEY_BYTES_MAX} printable characters: \
             send a fresh random one with each job"
        );
        return Err(Refusal::BadAsk { message });
    }
    if submission.groups.len() > GROUPS_MAX {
        let message = format!("a user with more than {GROUPS_MAX} groups: leave some of them");
        return Err(Refusal::BadAsk { message });
    }
    check::check_ask(submission.ask)?;
    check::check_script(submission.script.as_bytes())?;
    let environment_bytes = submission.environment.len();
    if environment_bytes > ENVIRONMENT_BYTES_MAX {
        return Err(AskError::EnvironmentTooLarge(environment_bytes).into());
    }
    Ok(())
}

/// The ask with its queue, account, a time limit that the queue and the QoS allow, and a group of
/// its owner.
pub(super) fn fill_in(state: &State, who: &Applicant<'_>, ask: &Ask) -> Result<Ask, Refusal> {
    let queue = admission::find_queue(state, ask)?;
    let qos_max = admission::find_qos(state, ask)?.and_then(|qos| qos.time_limit_max);
    let usual = queue.time_limit_default.or(queue.time_limit_max);
    let usual = usual.into_iter().chain(qos_max).min();
    let time_limit = ask.time_limit.or(usual.filter(|_| !ask.unlimited));
    let account = ask.account.clone().or_else(|| admission::default_account(state, who));
    let mut ask = Ask { queue: Some(queue.name.clone()), account, time_limit, ..ask.clone() };
    if let Some(most) = &mut ask.request.per_node_max {
        most.group = group_of(who.owner, &most.group);
        check::check_ask(&ask)?;
    }
    Ok(ask)
}

/// A group is its owner's own, whatever they call it: nobody keeps another's jobs from a node.
fn group_of(owner: &Owner, group: &str) -> String {
    let of_owner = format!("{}/", owner.uid);
    format!("{of_owner}{}", group.strip_prefix(&of_owner).unwrap_or(group))
}
