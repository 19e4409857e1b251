//! Records for accounting: ended runs, and changes of nodes. They are read from the state right
//! after the events that announce them.
//!
//! A thousand tasks may end by one entry, and no other entry is applied while their runs are read.
//! So only what differs from task to task is read then ([`EndedRun`]); the records are made later.

use crate::view;
use common::id::{AttemptId, JobId, JobKey, NodeName};
use common::job::{Outcome, Phase, StepRecord};
use common::node::Contact;
use common::resource::{Resources, Share};
use common::time::Time;
use common::unit::{Cpus, Gpus};
use common::wire::api::HistoryRun;
use serde::{Deserialize, Serialize};
use state::State;
use state::event::Event;
use state::job::{Earlier, Element, Record, Run};
use state::node::NodeRecord;
use state::usage::Used;
use std::sync::Arc;

/// Slurm's name and code for a run that a user requeued (man sacct).
const REQUEUED: (&str, &str) = ("REQUEUED", "RQ");

/// The condition of a node from a time on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeChange {
    pub name: NodeName,
    pub at: Time,
    pub cpus: Cpus,
    pub gpus: Gpus,
    pub standing: Standing,
}

/// The condition of a node, for reports on its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// In use, or ready for use.
    Up,
    /// In contact, but no new jobs start.
    Drained,
    Down,
}

/// A run that ended, without the state.
#[derive(Debug, Clone)]
pub struct EndedRun {
    /// Shared by the tasks of an array.
    job: Arc<JobPart>,
    key: JobKey,
    element: Element,
    over: Over,
}

/// What the tasks of an array have in common.
#[derive(Debug)]
struct JobPart {
    /// Without its elements.
    record: Record,
    requested: Resources,
}

/// How a run was over, and when.
#[derive(Debug, Clone, Copy)]
struct Over {
    at: Time,
    /// The job waits again.
    requeued: bool,
}

/// The runs that ended by these events. The state must be the one right after them.
#[must_use]
pub fn ended_runs(state: &State, events: &[Event]) -> Vec<EndedRun> {
    let mut job: Option<Arc<JobPart>> = None;
    let over = events.iter().filter_map(|event| {
        let (key, (element, over)) = match event {
            Event::JobDone { key, .. } => (*key, last_attempt(state.element(*key)?.1)?),
            Event::JobRequeued { key, attempt, .. } => {
                let mut past = state.element(*key)?.1.past();
                (*key, earlier_attempt(past.find(|earlier| earlier.attempt == *attempt)?))
            }
            _ => return None,
        };
        let known = job.take().filter(|known| known.record.id == key.job);
        let job = job.insert(known.or_else(|| JobPart::of(state, key.job))?);
        Some(EndedRun { job: job.clone(), key, element, over })
    });
    over.collect()
}

impl JobPart {
    fn of(state: &State, job: JobId) -> Option<Arc<Self>> {
        let record = state.job(job)?;
        let requested = view::requested(state, record);
        Some(Arc::new(Self { record: record.without_elements(), requested }))
    }
}

impl EndedRun {
    /// The record of the run.
    #[must_use]
    pub fn record(&self) -> HistoryRun {
        let JobPart { record, requested } = &*self.job;
        run_record((record, &self.element, self.key), || *requested, self.over)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSteps {
    pub id: AttemptId,
    pub steps: Vec<StepRecord>,
}

/// The steps that ended by these events. The state does not keep them: a controller that missed the
/// events gets them from another controller's accounting.
pub fn ended_steps(events: &[Event]) -> impl Iterator<Item = EndedSteps> + '_ {
    events.iter().filter_map(|event| match event {
        Event::JobStepsEnded { id, steps } => Some(EndedSteps { id: *id, steps: steps.clone() }),
        _ => None,
    })
}

/// Every ended run of all jobs in the state, which is as far back as a replica that continues from
/// a snapshot can know by itself.
pub fn all_ended(state: &State) -> impl Iterator<Item = HistoryRun> + '_ {
    let elements = state.jobs().flat_map(|record| {
        record.elements.iter().map(move |(index, element)| (record, element, record.key(*index)))
    });
    elements.flat_map(move |(record, element, key)| {
        let all = element.past().map(earlier_attempt).chain(last_attempt(element));
        all.map(move |(element, over)| {
            run_record((record, &element, key), || view::requested(state, record), over)
        })
    })
}

/// The condition of the nodes that these events concern.
#[must_use]
pub fn changed_nodes(state: &State, events: &[Event]) -> Vec<NodeChange> {
    let names = events.iter().filter_map(|event| match event {
        Event::NodeRegistered { name }
        | Event::NodeSilent { name }
        | Event::NodeLost { name }
        | Event::NodeDrained { name, .. }
        | Event::NodeResumed { name, .. }
        | Event::NodeDataChanged { name } => Some(name),
        _ => None,
    });
    names.filter_map(|name| state.node(name)).map(|node| node_change(state, node)).collect()
}

/// The condition of all nodes.
pub fn all_nodes(state: &State) -> impl Iterator<Item = NodeChange> + '_ {
    state.nodes().map(|(_, node)| node_change(state, node))
}

/// Every run that has not ended, with its usage until `now`.
pub fn unfinished_runs(state: &State, now: Time) -> impl Iterator<Item = HistoryRun> + '_ {
    let alive = state.live().filter_map(|key| Some((key, state.element(key)?)));
    let running = alive.filter(|(_, (_, element))| element.run.is_some());
    let so_far = Over { at: now, requeued: false };
    running.map(move |(key, (record, element))| {
        run_record((record, element, key), || view::requested(state, record), so_far)
    })
}

fn node_change(state: &State, node: &NodeRecord) -> NodeChange {
    let standing = match (node.contact, &node.drain) {
        (Contact::Connected, None) => Standing::Up,
        (Contact::Connected, Some(_)) => Standing::Drained,
        _ => Standing::Down,
    };
    let inventory = &node.inventory;
    let (name, at) = (node.name.clone(), state.now());
    NodeChange { name, at, cpus: inventory.cpu_count(), gpus: inventory.gpu_count(), standing }
}

/// An earlier attempt of an element that was requeued.
fn earlier_attempt(earlier: &Earlier) -> (Element, Over) {
    let outcome = earlier.run.end.as_ref().map_or(Outcome::Cancelled, |end| end.outcome);
    let element = Element {
        phase: Phase::Done,
        attempt: earlier.attempt,
        outcome: Some(outcome),
        done_at: Some(earlier.over_at),
        run: Some(Box::new(earlier.run.clone())),
        ..Element::new(false)
    };
    (element, Over { at: earlier.over_at, requeued: true })
}

/// The last attempt of an element that is Done, without what its record does not need. If it never
/// started, there is no run in it.
fn last_attempt(element: &Element) -> Option<(Element, Over)> {
    let at = element.done_at.filter(|_| element.phase == Phase::Done)?;
    let last = Element {
        phase: element.phase,
        held: element.held,
        attempt: element.attempt,
        run: element.run.clone(),
        outcome: element.outcome,
        done_at: element.done_at,
        timeline: element.timeline.clone(),
        ..Element::new(false)
    };
    Some((last, Over { at, requeued: false }))
}

fn run_record(
    (record, element, key): (&Record, &Element, JobKey),
    requested: impl FnOnce() -> Resources,
    Over { at: until, requeued }: Over,
) -> HistoryRun {
    let whose = (record, element, key);
    let mut job = view::view_without_wait(whose, requested, view::without_bulk);
    if requeued && element.outcome == Some(Outcome::Cancelled) {
        let (word, code) = REQUEUED;
        (job.state, job.state_code) = (word.to_owned(), code.to_owned());
    }
    let run = element.run.as_deref();
    let kept = run.map(|run| allocation_usage(run, until)).unwrap_or_default();
    HistoryRun {
        job,
        run: if run.is_some() { element.attempt.0 } else { element.next_attempt().0 },
        allocated_at: run.map(|run| run.allocated_at),
        gpu_milliseconds: kept.gpu_milliseconds,
        cpu_milliseconds: kept.cpu_milliseconds,
        requeued,
        steps: Vec::new(),
    }
}

/// What an allocation kept from others until then, each share until its node released it.
fn allocation_usage(run: &Run, until: Time) -> Used {
    let all = run.allocation.shares();
    let sum = |used: Used, (rank, share): (usize, &Share)| {
        used.and(Used::of_share(share, until.since(run.since(rank))))
    };
    // The phases of an ended run are gone, so nothing is added.
    let held = all.iter().enumerate().zip(&run.shares);
    held.filter(|(_, phase)| !phase.is_over()).map(|(share, _)| share).fold(run.kept, sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::job::Ask;
    use testkit::house::House;

    #[test]
    fn the_ended_tasks_of_an_array_share_what_they_have_in_common() {
        let mut house = House::new();
        let array = house.submit(Ask { array: Some("0-9".parse().unwrap()), ..Ask::default() });
        let other = house.job();
        let cancelled = [JobKey::single(array), other].map(|key| house.cancel(key));
        let events: Vec<Event> =
            cancelled.into_iter().flat_map(|cancel| house.apply(cancel)).collect();
        let runs = ended_runs(&house.state, &events);
        let first = &runs[0];
        let shares = |run: &&EndedRun| Arc::ptr_eq(&run.job, &first.job);
        assert_eq!((runs.len(), runs.iter().filter(shares).count()), (11, 10));
        assert!(first.job.record.elements.is_empty(), "the other tasks are not copied");
        assert_eq!(runs[10].record().job.key, other);
    }
}
