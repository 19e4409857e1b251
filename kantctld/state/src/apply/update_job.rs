//! `UpdateJob`: changes what a waiting job asks for, by the same rules by which it was accepted
//! (Slurm: `scontrol update job`). Its owner or an operator may. It keeps its id and its place.
//! Of a job that has started, its name and comment, and its time limit, which only operators raise.
//!
//! All tasks of an array share what was asked for: it changes while none has started; how many run
//! at once, and what can be changed of jobs that run, at any time. Never takes anything from a job
//! that has nodes but time.

use super::admission::{self, Applicant};
use super::submit_job::fill_in;
use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::dependency::{self, TermState};
use crate::event::Event;
use crate::job::{Element, Record};
use crate::living::Bounds;
use crate::remembered::State;
use common::id::{JobId, JobKey, NodeName};
use common::job::check::check_ask;
use common::job::{Ask, Patch, Phase, SetPlace};
use common::reason::Refusal;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Said in logs of builds that changed nothing else of arrays that have begun.
const ALONE: &str = "--array-limit";

/// What can be changed of tasks that have started, and of those that wait with them.
const LIVING: &str = "--time, --job-name, --comment, --mail-type, --mail-user and --array-limit";

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
    (patch, living): (&Patch, bool),
) -> Result<(), Refusal> {
    // Whether it is theirs, and whether there is one, comes before all else.
    target::of_one(state, actor, target)?;
    let target = Target { key: state.meant(target.key) };
    let ask = updated(state, target.key, patch, (actor.operator, living))?;
    if patch.name.is_some() {
        dependency::check_circle(state, target.key.job, &ask)?;
    }
    let standing = match patch.dependency {
        Some(_) => Some(standing(state, target.key.job, &ask)?),
        None => None,
    };
    let before = state.job(target.key.job).map(|record| record.spec.ask.name.clone());
    let times = (ask.begin_at, ask.deadline);
    change(state, target.key.job, |record| {
        record.spec.ask = ask;
        if let Some(standing) = standing {
            record.standing = standing;
        }
    });
    let alive = |key: &JobKey| state.element(*key).is_some_and(|(_, e)| e.phase != Phase::Done);
    let followers: Vec<JobKey> = followers(state, target.key.job, patch).filter(alive).collect();
    for key in &followers {
        change(state, key.job, |record| {
            let ask = &mut record.spec.ask;
            (ask.begin_at, ask.deadline) = times;
        });
    }
    // Of an array once, however many its tasks: they share it.
    let whole = JobKey { index: None, ..target.key };
    let what = patch.text();
    for key in std::iter::once(whole).chain(followers) {
        let (nodes, what) = (nodes_of(state, key.job), what.clone());
        state.tell(events, Event::JobUpdated { key, by: actor.uid, what, nodes });
    }
    if let Some(before) = before.filter(|_| patch.name.is_some()) {
        dependency::renamed(state, events, target.key.job, &before);
    }
    Ok(())
}

/// Changes what a job asks for, and all that goes by it.
fn change(state: &mut State, job: JobId, act: impl FnOnce(&mut Record)) {
    let lives = !state.is_all_done(job);
    let Some(record) = state.jobs.get_mut(&job) else { return };
    let before = Bounds::of(&record.spec.ask);
    state.ties.unbind(record);
    if lives {
        state.ties.rest(record);
    }
    act(Arc::make_mut(record));
    let now = Bounds::of(&record.spec.ask);
    if let Some(record) = state.jobs.get(&job) {
        state.ties.bind(record, |job| state.jobs.contains_key(&job));
        if lives {
            state.ties.live(record);
        }
    }
    state.living.rebind(job, before, now);
}

/// The nodes that run any of a job.
fn nodes_of(state: &State, job: JobId) -> Vec<NodeName> {
    let elements = state.job(job).into_iter().flat_map(|record| record.elements.values());
    let runs = elements.filter(|element| element.phase != Phase::Done);
    let nodes = runs.filter_map(|element| element.run.as_ref()).flat_map(|run| run.holding());
    nodes.collect::<BTreeSet<NodeName>>().into_iter().collect()
}

/// The components besides the first, where what is changed of that one holds for all: when they may
/// begin, and when they have to be over.
fn followers(state: &State, job: JobId, patch: &Patch) -> impl Iterator<Item = JobKey> {
    let is_shared = patch.begin_at.is_some() || patch.deadline.is_some();
    let set = state.job(job).and_then(|record| record.set).filter(|_| is_shared);
    set.into_iter().flat_map(|set| set.keys()).filter(move |key| key.job != job)
}

/// How far what it is to wait for now is.
fn standing(state: &State, job: JobId, ask: &Ask) -> Result<Vec<TermState>, Refusal> {
    dependency::check_circle(state, job, ask)?;
    let record = state.job(job).into_iter();
    let own: Vec<_> = record.flat_map(|record| record.elements.keys().copied()).collect();
    dependency::standing(state, ask, &own)
}

/// What a job would ask for with this changed, if it may: for `apply`, and for the leader, who asks
/// the engine whether any node could hold that. `living`: one that has started, too.
///
/// # Errors
/// What keeps it from being changed, or from being accepted if it asked for that.
pub fn updated(
    state: &State,
    key: JobKey,
    patch: &Patch,
    (operator, living): (bool, bool),
) -> Result<Ask, Refusal> {
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let ask = &record.spec.ask;
    if key.index.is_some() {
        let job = key.job;
        return refuse(format!(
            "cannot change one task: the tasks of job {job} share what was asked for; name {job}"
        ));
    }
    if patch.array_limit.is_some() && ask.array.is_none() {
        return refuse(format!("job {} is no array: leave --array-limit out", key.job));
    }
    if patch.nice.is_some_and(|nice| nice < 0) && !operator {
        return Err(Refusal::NiceNegative);
    }
    of_the_set(record, patch)?;
    let mut phases = record.elements.values().map(|element| element.phase);
    let (waits, all_wait) =
        (phases.clone().any(|p| p == Phase::Pending), phases.all(|p| p == Phase::Pending));
    let lives = |element: &Element| !matches!(element.phase, Phase::Completing | Phase::Done);
    let has_nodes = !all_wait && record.elements.values().any(lives);
    if living && has_nodes && patch.is_for_the_living() {
        check_limit(record, patch, operator)?;
        let changed = patch.over(ask);
        check_ask(&changed)?;
        return Ok(changed);
    }
    if !waits && living && has_nodes {
        return refuse(format!(
            "job {} has started: only its time limit, name, comment and letters can be changed \
             now",
            key.job
        ));
    }
    if !waits {
        let first = record.elements.keys().next().copied().flatten();
        return match target::wrong_phase(state, record.key(first), "update") {
            Did::Not(refusal) => Err(refusal),
            Did::Fine => Err(Refusal::UnknownJob { key }),
        };
    }
    if !all_wait && !patch.is_for_the_array_alone() {
        let can = if living { LIVING } else { ALONE };
        return refuse(format!(
            "cannot change what job {} asks for: its tasks share that, and some have started. Only \
             {can} can be changed now; else cancel the tasks that wait, and submit those \
             again",
            key.job
        ));
    }
    let changed = patch.over(ask);
    let changed = Ask { dependency: dependency::meant(state, &changed), ..changed };
    check_ask(&changed)?;
    if patch.is_for_the_array_alone() {
        return Ok(changed);
    }
    let who = Applicant { owner: &record.spec.owner, groups: &record.groups, operator };
    let changed = fill_in(state, &who, &changed)?;
    admission::check(state, &who, &changed)?;
    Ok(changed)
}

/// What holds for all of a set is not a later component's to change.
fn of_the_set(record: &Record, patch: &Patch) -> Result<(), Refusal> {
    let Some(set) = record.set.filter(|set| set.offset > 0) else { return Ok(()) };
    let option = match patch {
        Patch { dependency: Some(_), .. } => "--dependency",
        Patch { begin_at: Some(_), .. } => "--begin",
        Patch { deadline: Some(_), .. } => "--deadline",
        Patch { mail_on: Some(_), .. } => "--mail-type",
        Patch { mail_to: Some(_), .. } => "--mail-user",
        _ => return Ok(()),
    };
    let first = SetPlace { offset: 0, ..set }.name();
    let message = format!("{option} holds for all of a set: change it of its first, {first}");
    Err(Refusal::BadAsk { message })
}

/// Of a job that has started: its user gives time back; more is the operators' to give.
fn check_limit(record: &Record, patch: &Patch, operator: bool) -> Result<(), Refusal> {
    let Some(limit) = patch.time_limit.filter(|_| !operator) else { return Ok(()) };
    match record.spec.ask.time_limit {
        Some(before) if limit > before => refuse(format!(
            "job {} has started with a time limit of {before}: you may lower that; operators \
             raise it",
            record.id
        ))
        .map(drop),
        _ => Ok(()),
    }
}

fn refuse(message: String) -> Result<Ask, Refusal> {
    Err(Refusal::BadAsk { message })
}
