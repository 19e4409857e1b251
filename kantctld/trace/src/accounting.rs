//! A controller's record of its jobs, exported as a trace that can be replayed under another
//! policy. The export has what the state still keeps. Jobs that were cancelled while they waited
//! are left out, since they have no run time.
//!
//! Of a job that was started several times, the last attempt counts. Of a running job, the time it
//! ran so far counts. In a trace, all nodes hold equal parts of a job; where they did not, each
//! counts as the largest. Begin times, nearness and dependencies have no column; the job is
//! replayed without them.

use crate::{CpuMilli, Job, Node};
use common::id::{JobKey, NodeName};
use common::job::state::slurm_state;
use common::resource::{Allocation, Request, Share};
use common::time::{Span, Time};
use common::topology::Level;
use common::unit::{Bytes, GpuMilli, Gpus, Nodes};
use state::State;
use state::job::{Element, Record};
use state::node::NodeRecord;
use std::collections::BTreeMap;

/// Jobs that ran, ready for a job file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Export {
    /// By submission, numbered from 1. Each job's own key is its constraint `job`.
    pub jobs: Vec<Job>,
    /// The number of jobs and array tasks that wait, or ended without having run.
    pub left_out: u32,
}

/// The jobs and array tasks submitted at `since` or later that run or ran, of those that the reader
/// sees. Times count from the first of their submissions.
#[must_use]
pub fn export_jobs(
    state: &State,
    sees: impl Fn(&Record) -> bool,
    since: Time,
    now: Time,
) -> Export {
    let mut ran = Vec::new();
    let mut left_out = 0;
    let seen = state.jobs().filter(|record| record.submitted_at >= since && sees(record));
    for record in seen {
        for (index, element) in &record.elements {
            match attempt(element, now) {
                Some(attempt) => ran.push((record, element, record.key(*index), attempt)),
                None => left_out += 1,
            }
        }
    }
    ran.sort_by_key(|(record, _, key, _)| (record.submitted_at, *key));
    let origin = ran.first().map_or(now, |(record, ..)| record.submitted_at);
    let jobs = (1..).zip(&ran).map(|(id, (record, element, key, attempt))| {
        job(id, (record, element, *key), attempt, record.submitted_at.since(origin))
    });
    Export { jobs: jobs.collect(), left_out }
}

/// Where a job ran, and for how long.
struct Attempt<'a> {
    on: &'a Allocation,
    ran: Span,
}

fn attempt(element: &Element, now: Time) -> Option<Attempt<'_>> {
    let run = element.run.as_ref()?;
    let ran = element.ended_at().unwrap_or(now).since(run.running_at?);
    Some(Attempt { on: &run.allocation, ran })
}

fn job(
    id: u64,
    (record, element, key): (&Record, &Element, JobKey),
    attempt: &Attempt<'_>,
    submit: Span,
) -> Job {
    let ask = &record.spec.ask;
    let shares = attempt.on.shares();
    let most = |of: &dyn Fn(&Share) -> u64| shares.iter().map(of).max().unwrap_or(0);
    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let gpus = count(most(&|share| share.gpus.len() as u64));
    let cpus = count(most(&|share| share.cpus.len().into()));
    let part = shares.iter().find_map(|share| share.gpu_milli).unwrap_or(GpuMilli::WHOLE);
    let nodes = count(shares.len() as u64);
    let text = |name: Option<String>| name.unwrap_or_default();
    Job {
        id,
        submit: Time(submit.0),
        submit_seconds: seconds(submit),
        runtime: attempt.ran,
        runtime_seconds: seconds(attempt.ran),
        walltime: ask.time_limit,
        walltime_seconds: ask.time_limit.map(seconds),
        nodes: Nodes(nodes),
        gpus_per_node: Gpus(gpus),
        gpu_fraction: match (gpus, nodes) {
            (0, _) => GpuMilli::ZERO,
            (_, 1) => part,
            _ => GpuMilli::WHOLE,
        },
        gpu_models: if gpus > 0 { gpu_models(&ask.request) } else { Vec::new() },
        cpus: Some(CpuMilli(cpus.saturating_mul(1000))),
        mem_mib: Some(mebibytes(Bytes(most(&|share| share.memory.0)))),
        user: record.spec.owner.name.clone(),
        group: text(ask.queue.as_ref().map(ToString::to_string)),
        qos: text(ask.qos.as_ref().map(ToString::to_string)),
        account: text(ask.account.as_ref().map(ToString::to_string)),
        kind: if ask.service { "inference" } else { "" }.to_owned(),
        status: slurm_state(element.phase, element.outcome).0.to_lowercase(),
        constraint: BTreeMap::from([("job".to_owned(), key.to_string())]),
    }
}

/// The kinds of GPU that a job may have.
fn gpu_models(request: &Request) -> Vec<String> {
    request.gpu_kind.iter().chain(&request.gpu_kinds_or).map(|kind| kind.0.clone()).collect()
}

/// Milliseconds as seconds, as a trace has them; exact for a thousand years.
#[allow(clippy::cast_precision_loss)]
fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1000.0
}

/// Rounded down for both jobs and nodes: what fitted on the cluster fits in the trace.
const fn mebibytes(bytes: Bytes) -> u64 {
    bytes.0 >> 20
}

/// All nodes of the state, up or not, with their configured places in the network. A node with GPUs
/// of several kinds is shown with the kind of its first one.
#[must_use]
pub fn nodes(state: &State) -> Vec<Node> {
    let topology = state.settings().map(|settings| &settings.topology.0);
    let node = |(name, record): (&NodeName, &NodeRecord)| {
        let stands = topology.and_then(|positions| positions.get(name));
        let switch = |level| stands?.switch_at_level(level).map(ToString::to_string);
        let inventory = &record.inventory;
        Node {
            name: name.to_string(),
            gpus: inventory.gpu_count(),
            gpu_model: inventory.gpus.first().map(|gpu| gpu.kind.0.clone()),
            cpus: Some(CpuMilli(inventory.cpu_count().0.saturating_mul(1000))),
            mem_mib: Some(mebibytes(inventory.memory)),
            leaf: switch(Level::Leaf),
            spine: switch(Level::Spine),
            core: switch(Level::Superspine),
        }
    };
    state.nodes().map(node).collect()
}
