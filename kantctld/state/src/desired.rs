//! The desired state of each node, derived from the state. Any leader can compute it at any time,
//! so nothing is lost with a message or a leader. The hub compares it with what it sent before.

use crate::job::{Element, Record, Run, SharePhase};
use crate::lifecycle::set;
use crate::state::State;
use common::blob::BlobHash;
use common::id::{ArrayIndex, AttemptId, JobKey, NodeName};
use common::job::{Ask, Phase};
use common::time::Span;
use common::wire::node::{
    ArrayFacts, DesiredStep, LaunchOrder, Resized, SetComponent, SetFacts, Want,
};
use std::collections::BTreeMap;

/// The steps that a node should run, in ascending order of attempts: exactly those that hold
/// resources there. A step that the node has and that is missing here must end, or be forgotten if
/// it has ended. Launch orders are not filled in.
#[must_use]
pub fn desired_for(state: &State, node: &NodeName) -> Vec<DesiredStep> {
    let step = |id: AttemptId| {
        let (record, element) = state.element(id.key)?;
        let suspended = element.phase == Phase::Suspended;
        let limit = element.run.as_ref().and_then(|run| time_limit(&record.spec.ask, run, node));
        let place = node_place(element, node);
        let want = match place {
            Place::Leaves => Want::Stop,
            Place::Joins(want) => want,
            Place::Stays => wanted_action(state, id, element)?,
        };
        let tells = want == Want::Run && place == Place::Stays;
        let resized = resized(state, record, element).filter(|_| tells);
        Some(DesiredStep { id, want, suspended, time_limit: limit, resized, order: None })
    };
    state.ledger().holders(node).filter_map(step).collect()
}

/// The relation of a node to a job that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The job goes on without it.
    Leaves,
    /// It joins the job, which runs meanwhile.
    Joins(Want),
    Stays,
}

fn node_place(element: &Element, node: &NodeName) -> Place {
    let run = element.run.as_ref().filter(|run| run.resized > 0 || !run.grown.is_empty());
    let Some((run, rank)) = run.and_then(|run| Some((run, run.rank(node)?))) else {
        return Place::Stays;
    };
    let joiners = run.joining_ranks();
    if run.shares.get(rank) == Some(&SharePhase::Leaving) {
        return Place::Leaves;
    }
    if !joiners.contains(&rank) {
        return Place::Stays;
    }
    // Joining nodes run together, like a gang; a single one need not wait.
    let ready = run.shares[joiners.clone()].iter().all(|share| *share >= SharePhase::Ready);
    Place::Joins(if ready || joiners.len() == 1 { Want::Run } else { Want::Prepare })
}

/// The allocation of a job whose size changed; `None` if that in its order is still correct.
fn resized(state: &State, record: &Record, element: &Element) -> Option<Box<Resized>> {
    let run = element.run.as_ref().filter(|run| run.resized > 0)?;
    let allocation = run.known_allocation().as_ref().clone();
    let addresses = allocation.shares().iter().map(|s| address(state, &s.node)).collect();
    let signal = record.spec.ask.resize_signal;
    Some(Box::new(Resized { number: run.resized, allocation, addresses, signal }))
}

/// What all nodes of a job, and of all components of its set, should do: they run together and stop
/// together. Leaving and joining nodes are handled by the caller.
fn wanted_action(state: &State, id: AttemptId, element: &Element) -> Option<Want> {
    element.run.as_ref()?;
    match element.phase {
        // Shares only move forward, so a ready job stays ready.
        Phase::Starting if set::is_ready(state, id.key) => Some(Want::Run),
        Phase::Starting => Some(Want::Prepare),
        Phase::Running | Phase::Suspended => Some(Want::Run),
        Phase::Completing => Some(Want::Stop),
        Phase::Pending | Phase::Done => None,
    }
}

/// All that a node needs to run an attempt. It is the same for all nodes that were given together.
/// `None` if the attempt does not exist or has ended.
#[must_use]
pub fn launch_order(state: &State, id: AttemptId, node: &NodeName) -> Option<LaunchOrder> {
    let (record, element) = state.element(id.key)?;
    if element.attempt != id.attempt || !element.phase.holds_resources() {
        return None;
    }
    let run = element.run.as_ref()?;
    let allocation = run.staying();
    let settings = state.settings()?;
    let ask = &record.spec.ask;
    let queue = ask.queue.as_ref()?;
    Some(LaunchOrder {
        id,
        cluster: settings.cluster.clone(),
        job_name: ask.name.clone(),
        owner: record.spec.owner.clone(),
        queue: queue.clone(),
        account: ask.account.as_ref().map(ToString::to_string),
        script: text(state, &record.spec.script),
        args: ask.args.clone(),
        environment: environment(state, &record.spec.environment),
        work_dir: ask.work_dir.clone(),
        stdin: ask.stdin.clone(),
        stdout: ask.stdout_pattern().to_owned(),
        stderr: ask.stderr.clone(),
        open_mode: ask.open_mode,
        umask: ask.umask,
        rlimits: ask.rlimits.to_vec(),
        launch: ask.launch,
        container: ask.container.clone(),
        sandbox: state.queue(queue).map(|one| one.sandbox).unwrap_or_default(),
        time_limit: time_limit(ask, run, node),
        until_deadline: until_deadline(ask, run, node),
        warning: ask.warning,
        kill_grace: settings.kill_grace,
        requeue: ask.requeue,
        allocation: allocation.as_ref().clone(),
        addresses: allocation.shares().iter().map(|s| address(state, &s.node)).collect(),
        // The order includes the joining nodes, so it already has the number of the next size.
        resized: run.resized.saturating_add(u32::from(run.joining > 0)),
        cpus_per_task: ask.request.cpus_per_task.0,
        submitted_at: record.submitted_at,
        submit_host: ask.submit_host.clone(),
        array: array_facts(record, id.key.index),
        set: set_facts(state, record).map(Box::new),
        replica: ask.replica.clone(),
    })
}

/// The time limit, or the time left until the deadline if that is shorter. It is a span, since
/// clocks of hosts differ. It does not include the time that a node takes to prepare, so the
/// controller also watches the deadline.
fn time_limit(ask: &Ask, run: &Run, node: &NodeName) -> Option<Span> {
    // For a node that joined later, only the time that was left then.
    let limit = ask.time_limit.map(|limit| match run.given_later_to(node) {
        Some(given) => Span(limit.0.saturating_sub(given.after.0).max(1)),
        None => limit,
    });
    limit.into_iter().chain(until_deadline(ask, run, node)).min()
}

fn until_deadline(ask: &Ask, run: &Run, node: &NodeName) -> Option<Span> {
    let since = run.given_later_to(node).map_or(run.allocated_at, |given| given.at);
    ask.deadline.map(|deadline| deadline.since(since))
}

fn text(state: &State, hash: &BlobHash) -> String {
    String::from_utf8_lossy(state.blobs().get(hash).unwrap_or_default()).into_owned()
}

/// Parses `NAME=value` pairs, each terminated by NUL. Entries without `=` or without a name are
/// skipped.
fn environment(state: &State, hash: &BlobHash) -> BTreeMap<String, String> {
    let text = text(state, hash);
    let pairs = text.split('\0').filter_map(|line| line.split_once('='));
    let named = pairs.filter(|(name, _)| !name.is_empty());
    named.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn address(state: &State, name: &NodeName) -> String {
    state.node(name).map_or_else(|| name.to_string(), |node| node.address.clone())
}

/// `None` if the job is in no set, or a component has no nodes any more. Replicas are in one only
/// until they are ready, so their programs are not told.
fn set_facts(state: &State, record: &Record) -> Option<SetFacts> {
    let place = record.set.filter(|_| record.spec.ask.replica.is_none())?;
    let component = |key: JobKey| {
        let (record, element) = state.element(key)?;
        let (ask, run) = (&record.spec.ask, element.run.as_ref()?);
        let allocation = run.allocation.as_ref().clone();
        let (queue, cpus_per_task) = (ask.queue.clone()?, ask.request.cpus_per_task.0);
        Some(SetComponent { job: record.id, queue, allocation, cpus_per_task })
    };
    let components = place.keys().map(component).collect::<Option<_>>()?;
    Some(SetFacts { offset: place.offset, components })
}

fn array_facts(record: &Record, task: Option<ArrayIndex>) -> Option<ArrayFacts> {
    let array = record.spec.ask.array.as_ref()?;
    let count = u32::try_from(record.elements.len()).unwrap_or(u32::MAX);
    let index = |(index, _): (&Option<ArrayIndex>, &Element)| *index;
    let min = record.elements.first_key_value().and_then(index)?;
    let max = record.elements.last_key_value().and_then(index)?;
    Some(ArrayFacts { count, min, max, step: array.step(), number: record.number(task) })
}
