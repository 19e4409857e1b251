//! `SubmitJob`: checks a submission, fills in queue, account and time limit, and assigns an id. For
//! a set it does so for all components or for none. A repeated request key of the same user returns
//! the earlier job, whatever else the request holds.
//!
//! Whether the job fits the nodes is not checked here. The leader asks the engine before it
//! proposes the command, since the engine may differ between versions and `apply` may not.

use super::admission::{self, Applicant};
use super::forget_done;
use crate::blobs::Blobs;
use crate::dependency;
use crate::event::Event;
use crate::footprint::Load;
use crate::job::{Element, Record};
use crate::living::Bounds;
use crate::run_times::Traits;
use crate::state::{KnownRequest, State};
use crate::texts;
use common::blob::BlobHash;
use common::id::{ArrayIndex, Gid, JobId, NodeName, RequestKey};
use common::job::check::{self, AskError, ENVIRONMENT_BYTES_MAX};
use common::job::{Ask, Owner, Rlimit, SetPlace, Spec};
use common::reason::{BadRequest, Refusal};
use std::sync::Arc;

/// The maximum length of a request key, in bytes.
const REQUEST_KEY_BYTES_MAX: usize = 64;

/// The maximum number of groups of a user (man 2 getgroups, NGROUPS_MAX).
const GROUPS_MAX: usize = 65_536;

/// A submission: one job, or the components of a set.
pub(super) struct Submission<'a> {
    pub(super) request_key: &'a RequestKey,
    pub(super) owner: &'a Owner,
    pub(super) groups: &'a [Gid],
    pub(super) operator: bool,
    pub(super) via: Option<&'a NodeName>,
    pub(super) jobs: Vec<Asked<'a>>,
}

/// The request of one job, with its texts.
pub(super) struct Asked<'a> {
    pub(super) ask: Ask,
    pub(super) script: Text<'a>,
    pub(super) environment: Text<'a>,
}

/// A script or an environment. Many jobs may share it, so it is hashed only once.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    text: &'a str,
    hash: BlobHash,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, hash: BlobHash::of(text.as_bytes()) }
    }

    fn hash_and_length(self) -> (BlobHash, u64) {
        (self.hash, self.text.len() as u64)
    }

    fn keep(self, blobs: &mut Blobs) -> BlobHash {
        blobs.add_use(self.hash, self.text.as_bytes())
    }
}

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    submission: Submission<'_>,
) -> Result<(), Refusal> {
    let (uid, request_key) = (submission.owner.uid, submission.request_key);
    if let Some(known) = state.answered_request(uid, request_key) {
        let job = known.job;
        let tasks = state.job(job).map_or(1, |record| saturating_u32(record.elements.len()));
        events.push(Event::JobSubmitted { job, tasks, repeated: true });
        return Ok(());
    }
    check_submitter(state, &submission)?;
    check_submission(&submission)?;
    let fill = |ask: &Ask| admitted_request(state, &submission, ask);
    let jobs = &submission.jobs;
    let asks = jobs.iter().map(|job| fill(&job.ask)).collect::<Result<Vec<Ask>, _>>()?;
    let ids = assign_ids(state, &asks)?;
    let tasks =
        asks.iter().map(|ask| saturating_u32(indices(ask).count())).fold(0, u32::saturating_add);
    state.living.check_room(uid, tasks)?;
    let texts = jobs.iter().map(|job| [job.script, job.environment].map(Text::hash_and_length));
    let loads: Vec<Load> = asks.iter().zip(texts).map(|(ask, own)| Load::of(ask, own)).collect();
    texts::check_room(state, uid, &loads)?;
    let standing = |ask: &Ask| {
        let own: Vec<_> = indices(ask).collect();
        dependency::term_states(state, ask, &own)
    };
    let standing = asks.iter().map(standing).collect::<Result<Vec<_>, _>>()?;
    forget_done::trim(state, events, uid);
    let known = KnownRequest { job: ids.first, at: state.now };
    state.requests.entry(uid).or_default().insert(request_key.clone(), known);
    state.asked.insert(ids.first, (uid, request_key.clone()));
    let size = saturating_u32(asks.len());
    let each = submission.jobs.iter().zip(asks).zip(standing);
    for (offset, ((job, ask), standing)) in (0..).zip(each) {
        let set = SetPlace { first: ids.first, offset, size };
        let (id, numbers) = (JobId(ids.first.0 + offset), ids.numbers);
        let elements = indices(&ask).map(|index| (index, Element::new(ask.hold))).collect();
        let script = job.script.keep(&mut state.blobs);
        let environment = job.environment.keep(&mut state.blobs);
        let expected = state.run_times.expected(uid, Traits::of(&ask), state.now);
        let spec = Spec { owner: submission.owner.clone(), script, environment, ask };
        let (set, groups) = (Some(set).filter(|_| size > 1), submission.groups.to_vec());
        let (via, submitted_at, timeline) = (submission.via.cloned(), state.now, Vec::new());
        let record = Record {
            id,
            numbers,
            set,
            spec,
            groups,
            via,
            submitted_at,
            expected,
            standing,
            timeline,
            elements,
        };
        insert_job(state, events, record);
    }
    state.last_job = ids.last;
    Ok(())
}

/// Adds a job to the state.
fn insert_job(state: &mut State, events: &mut Vec<Event>, record: Record) {
    let (job, uid, bounds) = (record.id, record.spec.owner.uid, Bounds::of(&record.spec.ask));
    let tasks = saturating_u32(record.elements.len());
    state.dependency_index.bind(&record, |job| state.jobs.contains_key(&job));
    state.dependency_index.insert_unfinished(&record);
    let keys = record.elements.keys().map(|index| record.key(*index));
    keys.for_each(|key| state.living.insert(key, uid, bounds));
    state.living.note_elements(tasks, true);
    state.footprint.insert_new(&record, &state.blobs);
    if let Some(replica) = &record.spec.ask.replica {
        state.replicas.entry(replica.service.clone()).or_default().insert(job);
    }
    state.jobs.insert(job, Arc::new(record));
    events.push(Event::JobSubmitted { job, tasks, repeated: false });
}

/// The request as it is stored, if the rules admit it.
fn admitted_request(state: &State, submission: &Submission<'_>, ask: &Ask) -> Result<Ask, Refusal> {
    let Submission { owner, groups, operator, .. } = *submission;
    let who = Applicant { owner, groups, operator };
    let ask = fill_in(state, &who, ask)?;
    admission::check(state, &who, &ask)?;
    #[cfg(feature = "next-rules")]
    let ask = super::next_rules::with_default_comment(state, ask);
    Ok(Ask {
        dependency: dependency::resolved_dependencies(state, &ask),
        rlimits: shared_rlimits(state, &ask),
        ..ask
    })
}

/// The ids assigned to one submission.
struct Ids {
    first: JobId,
    /// The last of all ids, including those of array tasks.
    last: JobId,
    /// The number of ids for array tasks; 0 without an array.
    numbers: u32,
}

/// Assigns one id to each job, then one to each array task.
fn assign_ids(state: &State, asks: &[Ask]) -> Result<Ids, Refusal> {
    let numbers = asks.iter().filter_map(|ask| ask.array.as_ref());
    let numbers = numbers.map(|array| array.job_id_count()).sum();
    let none_left = || BadRequest::NoIdsLeft;
    let first = state.last_job.0.checked_add(1).ok_or_else(none_left)?;
    let last = first.checked_add(saturating_u32(asks.len()).saturating_sub(1));
    let last = last.and_then(|last| last.checked_add(numbers)).ok_or_else(none_left)?;
    Ok(Ids { first: JobId(first), last: JobId(last), numbers })
}

/// The elements of a job: the job itself, or its array tasks.
fn indices(ask: &Ask) -> impl Iterator<Item = Option<ArrayIndex>> + use<> {
    let tasks = ask.array.as_ref().map(|array| array.indices());
    let alone = tasks.is_none().then_some(None);
    alone.into_iter().chain(tasks.into_iter().flatten().map(Some))
}

/// Shares the resource limits with the last job if they are equal. They mostly are, and would
/// otherwise be half of a job's memory.
fn shared_rlimits(state: &State, ask: &Ask) -> Arc<[Rlimit]> {
    let last = state.jobs.last_key_value().map(|(_, record)| &record.spec.ask.rlimits);
    last.filter(|last| **last == ask.rlimits).unwrap_or(&ask.rlimits).clone()
}

fn saturating_u32(elements: usize) -> u32 {
    u32::try_from(elements).unwrap_or(u32::MAX)
}

fn check_submitter(state: &State, submission: &Submission<'_>) -> Result<(), Refusal> {
    admission::check_owner(state, submission.owner.uid)?;
    if submission.jobs.iter().any(|job| job.ask.nice < 0) && !submission.operator {
        return Err(Refusal::NiceNegative);
    }
    Ok(())
}

fn check_submission(submission: &Submission<'_>) -> Result<(), Refusal> {
    let key = &submission.request_key.0;
    if key.is_empty() || key.len() > REQUEST_KEY_BYTES_MAX || key.chars().any(char::is_control) {
        return Err(BadRequest::RequestKey { most: REQUEST_KEY_BYTES_MAX }.into());
    }
    if submission.groups.len() > GROUPS_MAX {
        return Err(BadRequest::TooManyGroups { most: GROUPS_MAX }.into());
    }
    // The components of a set mostly share their texts.
    let mut last = None;
    for Asked { ask, script, environment } in &submission.jobs {
        check::check_ask(ask)?;
        if last.replace((script.hash, environment.hash)) == Some((script.hash, environment.hash)) {
            continue;
        }
        check::check_script(script.text.as_bytes())?;
        let environment_bytes = environment.text.len();
        if environment_bytes > ENVIRONMENT_BYTES_MAX {
            return Err(AskError::EnvironmentTooLarge(environment_bytes).into());
        }
    }
    Ok(())
}

/// Fills in the queue, the account, and a time limit that queue and QoS allow, and prefixes the
/// group with its owner.
pub(super) fn fill_in(state: &State, who: &Applicant<'_>, ask: &Ask) -> Result<Ask, Refusal> {
    let queue = admission::find_queue(state, ask)?;
    let qos_max = admission::find_qos(state, ask)?.and_then(|qos| qos.time_limit_max);
    let usual = queue.time_limit_default.or(queue.time_limit_max);
    let usual = usual.into_iter().chain(qos_max).min();
    let time_limit = ask.time_limit.or(usual.filter(|_| !ask.unlimited));
    let account = ask.account.clone().or_else(|| admission::default_account(state, who));
    let mut ask = Ask { queue: Some(queue.name.clone()), account, time_limit, ..ask.clone() };
    if let Some(apart) = &mut ask.request.apart {
        apart.group = group_of(who.owner, &apart.group);
        check::check_ask(&ask)?;
    }
    Ok(ask)
}

/// Prefixes a group name with its owner's uid, so that no user can keep another user's jobs off a
/// node.
fn group_of(owner: &Owner, group: &str) -> String {
    let of_owner = format!("{}/", owner.uid);
    format!("{of_owner}{}", group.strip_prefix(&of_owner).unwrap_or(group))
}
