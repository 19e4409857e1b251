//! The API's views of the state. The reasons why jobs wait come from the last round and are passed
//! in. A [`Viewer`] says what is hidden from the reader; other rights are checked by the callers.

mod deployment_plan;
mod explain;
mod list_row;
mod map;
mod nodes;
mod one_job;
mod queues;
mod remarks;
mod requested;
mod solve;

use crate::timeline;
use crate::viewer::Viewer;
use common::id::{JobId, JobKey};
use common::job::state::slurm_state;
use common::job::{Ask, Phase};
use common::node::Contact;
use common::reason::WaitReason;
use common::resource::Resources;
use common::time::{Span, Time};
use common::wire::api::{JobList, JobQuery, JobView, TimelineEntry};
use engine::{Round, Snapshot};
use state::State;
use state::job::{Element, Record};
use state::timeline::TimelineEvent;
use std::collections::BTreeMap;

pub use deployment_plan::deployment_plan;
pub use explain::explain;
pub use list_row::list_rows;
pub use map::cluster_map;
pub use nodes::{node_list, node_view};
pub use one_job::{job_view, running_job};
pub use queues::queue_list;
pub(crate) use requested::{requested, without_bulk};
pub use solve::solve;

/// The result of the last round for a waiting job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub reason: WaitReason,
    /// Its position among the waiting jobs, from 1.
    pub position: u32,
}

/// The results of the last round for the jobs that it did not start.
pub type Waits = BTreeMap<JobKey, Wait>;

/// The results of a round at `now` for the jobs that wait in a snapshot, either the round's own or
/// a later one. Jobs that came after the round are left out. Takes time proportional to the number
/// of waiting jobs.
#[must_use]
pub fn waits(snapshot: &Snapshot, round: &Round, now: Time) -> Waits {
    let places = (1..).zip(engine::waiting_jobs_in_order(snapshot, now));
    places
        .filter_map(|(position, key)| {
            let reason = round.waits.reason_of(snapshot, key)?;
            Some((key, Wait { reason, position }))
        })
        .collect()
}

/// The numbers of jobs and nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Waiting jobs and array tasks.
    pub jobs_pending: u32,
    pub jobs_running: u32,
    /// Finished jobs that are still kept.
    pub jobs_done: u32,
    pub nodes_connected: u32,
    pub nodes: u32,
}

#[must_use]
pub fn counts(state: &State) -> Counts {
    let standing = state.job_counts();
    let mut counts = Counts {
        jobs_pending: standing.pending,
        jobs_running: standing.active,
        jobs_done: standing.done,
        ..Counts::default()
    };
    for (_, node) in state.nodes() {
        counts.nodes += 1;
        counts.nodes_connected += u32::from(node.contact == Contact::Connected);
    }
    counts
}

/// The view of an element.
fn element_view(
    (state, viewer): (&State, &Viewer),
    (record, element, key): (&Record, &Element, JobKey),
    waits: &Waits,
    asked_for: impl Fn(&Ask) -> Ask,
) -> JobView {
    let requested = || requested::requested(state, record);
    let message = remarks::end_or_fault_message(viewer, element);
    let view =
        JobView { message, ..view_without_wait((record, element, key), requested, asked_for) };
    if element.phase != Phase::Pending {
        return view;
    }
    let waiting = waits.get(&key);
    JobView {
        reason: Some(remarks::reason((state, viewer), record, (key, element), waiting)),
        position: waiting.map(|wait| wait.position),
        dependency: remarks::open_dependencies((state, viewer), record, key.index),
        ..view
    }
}

/// The view of an element that does not wait. It need not be in the state: it may be an earlier
/// attempt's. `requested` returns the amounts for one without an allocation.
pub(crate) fn view_without_wait(
    (record, element, key): (&Record, &Element, JobKey),
    requested: impl FnOnce() -> Resources,
    asked_for: impl FnOnce(&Ask) -> Ask,
) -> JobView {
    let run = element.run.as_ref();
    let end = run.and_then(|run| run.end.as_ref());
    let allocation = run.map(|run| run.staying().as_ref().clone());
    let amounts = allocation.as_ref().map_or_else(requested, requested::allocated);
    let (word, code) = slurm_state(element.phase, element.outcome);
    JobView {
        key,
        number: record.number(key.index),
        set: record.set,
        owner: record.spec.owner.clone(),
        ask: asked_for(&record.spec.ask),
        phase: element.phase,
        outcome: element.outcome,
        state: word.to_owned(),
        state_code: code.to_owned(),
        held: element.held,
        reason: None,
        position: None,
        attempt: element.attempt.0,
        cancelled_by: remarks::cancelled_by(element),
        array_limit: record.spec.ask.array.as_ref().and_then(|array| array.limit()),
        submitted_at: record.submitted_at,
        expected_run_time: record.expected,
        started_at: run.and_then(|run| run.running_at),
        ended_at: element.ended_at(),
        suspended_at: run.and_then(|run| run.suspended_at),
        suspended: run.map_or(Span(0), |run| run.suspended),
        checkpoint_at: run.and_then(|run| run.saved_at),
        allocation,
        joining: run.map(|run| run.joining().cloned().collect()).unwrap_or_default(),
        leaving: run.map(|run| run.leaving().cloned().collect()).unwrap_or_default(),
        cpus: amounts.cpus,
        memory: amounts.memory,
        gpus: amounts.gpus,
        exit: end.and_then(|end| end.exit),
        usage: run.filter(|_| element.phase == Phase::Done).map(|run| run.usage),
        dependency: None,
        message: remarks::end_or_fault_message(&Viewer::ALL, element),
        timeline: Vec::new(),
    }
}

/// The jobs of the viewer that match a query: running ones first, then waiting ones in order, then
/// finished ones, the latest first. Bulky fields that no list shows are left out, since a hundred
/// thousand tasks would each repeat them.
#[must_use]
pub fn job_list(state: &State, viewer: &Viewer, query: &JobQuery, waits: &Waits) -> JobList {
    let view = |one: Listed<'_>| {
        element_view(
            (state, viewer),
            (one.record, one.element, one.key),
            waits,
            requested::without_bulk,
        )
    };
    let all = listed(state, viewer, query, waits);
    let total = query.limit.map(|_| all.len() as u64);
    let part = all.into_iter().skip(query.offset).take(query.limit.unwrap_or(usize::MAX));
    JobList { jobs: part.map(view).collect(), total, as_of: state.now() }
}

/// A job or task that matches a query.
#[derive(Clone, Copy)]
struct Listed<'a> {
    key: JobKey,
    record: &'a Record,
    element: &'a Element,
    waiting: Option<&'a Wait>,
}

/// All matches, in the order of lists.
fn listed<'a>(
    state: &'a State,
    viewer: &Viewer,
    query: &JobQuery,
    waits: &'a Waits,
) -> Vec<Listed<'a>> {
    let mut found: Vec<((u8, u64), Listed<'a>)> = Vec::new();
    let seen = state.jobs().filter(|record| viewer.sees(record));
    for record in seen.filter(|record| matches_record(record, query)) {
        for (index, element) in &record.elements {
            if (query.all || element.phase != Phase::Done) && matches_node(element, query) {
                let key = record.key(*index);
                let waiting = waits.get(&key).filter(|_| element.phase == Phase::Pending);
                let one = Listed { key, record, element, waiting };
                found.push((list_sort_key(element, waiting), one));
            }
        }
    }
    found.sort_unstable_by_key(|(rank, one)| (*rank, one.key));
    found.into_iter().map(|(_, one)| one).collect()
}

/// The sort key of an element in lists: its group, then its position in the group.
fn list_sort_key(element: &Element, wait: Option<&Wait>) -> (u8, u64) {
    match element.phase {
        Phase::Pending => (1, wait.map_or(u64::MAX, |wait| u64::from(wait.position))),
        Phase::Done => (2, u64::MAX - element.done_at.map_or(0, |at| at.0)),
        _ => (0, 0),
    }
}

fn matches_record(record: &Record, query: &JobQuery) -> bool {
    let owner = &record.spec.owner;
    let user = |user: &String| *user == owner.name || *user == owner.uid.to_string();
    let queue = |queue| record.spec.ask.queue.as_ref() == Some(queue);
    query.user.as_ref().is_none_or(user) && query.queue.as_ref().is_none_or(queue)
}

fn matches_node(element: &Element, query: &JobQuery) -> bool {
    query.node.as_ref().is_none_or(|node| {
        element.run.as_ref().is_some_and(|run| run.allocation.on(node).is_some())
    })
}

/// A job with its timeline; for an array without an index, all tasks. `None` if there is no such
/// job, or the viewer does not see it.
#[must_use]
pub fn job_detail(state: &State, viewer: &Viewer, key: JobKey, waits: &Waits) -> Option<JobList> {
    let record = state.job(key.job).filter(|record| viewer.sees(record))?;
    let indices: Vec<_> = match record.elements.contains_key(&key.index) {
        true => vec![key.index],
        false if key.index.is_none() => record.elements.keys().copied().collect(),
        false => return None,
    };
    let view = |index| {
        let (key, element) = (record.key(index), record.elements.get(&index)?);
        let view = element_view((state, viewer), (record, element, key), waits, Ask::clone);
        Some(JobView { timeline: timeline((state, viewer), record, element), ..view })
    };
    let (jobs, as_of) = (indices.into_iter().filter_map(view).collect(), state.now());
    Some(JobList { jobs, total: None, as_of })
}

/// The timeline of an element, with what happened to its whole array until it ended.
fn timeline(
    (state, viewer): (&State, &Viewer),
    record: &Record,
    element: &Element,
) -> Vec<TimelineEntry> {
    let (by, via) = (&record.spec.owner.name, &record.via);
    let text = match via {
        None => format!("submitted by {by}"),
        Some(node) => format!("submitted by {by} via {node}"),
    };
    let submitted = TimelineEntry { at: record.submitted_at, text };
    let is_its =
        |line: &&state::timeline::TimelineEntry| element.done_at.is_none_or(|done| line.at <= done);
    let mut lines: Vec<&state::timeline::TimelineEntry> =
        element.timeline.iter().chain(record.timeline.iter().filter(is_its)).collect();
    lines.sort_by_key(|line| line.at);
    let text = |what: &TimelineEvent| match what {
        TimelineEvent::Hopeless { .. } if viewer.hides_jobs() => timeline::HOPELESS.to_owned(),
        what => match timeline::other_job(what) {
            Some(other) if !viewer.sees_key(state, other) => timeline::line_without_job(what),
            _ => timeline::line(what),
        },
    };
    let lines = lines.iter().map(|l| TimelineEntry { at: l.at, text: text(&l.what) });
    std::iter::once(submitted).chain(lines).collect()
}

/// A job's script; `None` if the job does not exist, or its script is no longer kept.
#[must_use]
pub fn script(state: &State, job: JobId) -> Option<&str> {
    let record = state.job(job).filter(|record| !state.is_textless(record.id))?;
    let text = state.blobs().get(&record.spec.script)?;
    std::str::from_utf8(text).ok()
}
