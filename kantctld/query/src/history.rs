//! Records for accounting: ended runs, and changes of nodes. They are read from the state right
//! after the events that announce them.

use crate::view;
use common::id::{AttemptId, JobKey, NodeName};
use common::job::{Outcome, Phase, StepRecord};
use common::node::Contact;
use common::resource::Share;
use common::time::Time;
use common::unit::{Cpus, Gpus};
use common::wire::api::HistoryRun;
use serde::{Deserialize, Serialize};
use state::State;
use state::event::Event;
use state::job::{Earlier, Element, Record, Run};
use state::node::NodeRecord;
use state::usage::Used;

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

/// The runs that ended by these events. The state must be the one right after them.
#[must_use]
pub fn ended(state: &State, events: &[Event]) -> Vec<HistoryRun> {
    let over = events.iter().filter_map(|event| match event {
        Event::JobDone { key, .. } => {
            let (record, element) = state.element(*key)?;
            last(state, (record, element, *key))
        }
        Event::JobRequeued { key, attempt, .. } => {
            let (record, element) = state.element(*key)?;
            let earlier = element.past().find(|earlier| earlier.attempt == *attempt)?;
            Some(behind(state, (record, *key), earlier))
        }
        _ => None,
    });
    over.collect()
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
        let earlier = element.past().map(move |earlier| behind(state, (record, key), earlier));
        earlier.chain(last(state, (record, element, key)))
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
        | Event::NodeResumed { name, .. } => Some(name),
        _ => None,
    });
    names.filter_map(|name| state.node(name)).map(|node| change(state, node)).collect()
}

/// The condition of all nodes.
pub fn all_nodes(state: &State) -> impl Iterator<Item = NodeChange> + '_ {
    state.nodes().map(|(_, node)| change(state, node))
}

/// Every run that has not ended, with its usage until `now`.
pub fn running(state: &State, now: Time) -> impl Iterator<Item = HistoryRun> + '_ {
    let alive = state.live().filter_map(|key| Some((key, state.element(key)?)));
    let running = alive.filter(|(_, (_, element))| element.run.is_some());
    running
        .map(move |(key, (record, element))| run_record(state, (record, element, key), false, now))
}

fn change(state: &State, node: &NodeRecord) -> NodeChange {
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
fn behind(state: &State, (record, key): (&Record, JobKey), earlier: &Earlier) -> HistoryRun {
    let outcome = earlier.run.end.as_ref().map_or(Outcome::Cancelled, |end| end.outcome);
    let element = Element {
        phase: Phase::Done,
        attempt: earlier.attempt,
        outcome: Some(outcome),
        done_at: Some(earlier.over_at),
        run: Some(Box::new(earlier.run.clone())),
        ..Element::new(false)
    };
    run_record(state, (record, &element, key), true, earlier.over_at)
}

/// The last attempt of an element that is Done. If it never started, a record without a run.
fn last(state: &State, (record, element, key): (&Record, &Element, JobKey)) -> Option<HistoryRun> {
    let over_at = element.done_at.filter(|_| element.phase == Phase::Done)?;
    Some(run_record(state, (record, element, key), false, over_at))
}

fn run_record(
    state: &State,
    (record, element, key): (&Record, &Element, JobKey),
    requeued: bool,
    until: Time,
) -> HistoryRun {
    let whose = (record, element, key);
    let mut job = view::element_view(state, whose, &view::Waits::new(), view::without_bulk);
    if requeued && element.outcome == Some(Outcome::Cancelled) {
        let (word, code) = REQUEUED;
        (job.state, job.state_code) = (word.to_owned(), code.to_owned());
    }
    let run = element.run.as_deref();
    let kept = run.map(|run| kept(run, until)).unwrap_or_default();
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
fn kept(run: &Run, until: Time) -> Used {
    let all = run.allocation.shares();
    let sum = |used: Used, (rank, share): (usize, &Share)| {
        used.and(Used::by(share, until.since(run.since(rank))))
    };
    // The phases of an ended run are gone, so nothing is added.
    let held = all.iter().enumerate().zip(&run.shares);
    held.filter(|(_, phase)| !phase.is_over()).map(|(share, _)| share).fold(run.kept, sum)
}
