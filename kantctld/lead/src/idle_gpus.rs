//! The GPUs that jobs hold and do not use, as nodes report them. It is not in the log: nodes report
//! it again in every session.

use common::id::{AttemptId, NodeName};
use common::job::Phase;
use common::time::{Span, Time};
use common::unit::Gpus;
use common::wire::api::IdleJob;
use common::wire::node::IdleGpus;
use query::view::running_job;
use query::viewer::Viewer;
use state::State;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The last reports of all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdleGpuReports {
    /// By attempt and node: since when each idle GPU has been idle, by the leader's clock.
    steps: BTreeMap<AttemptId, BTreeMap<NodeName, Vec<Time>>>,
}

impl IdleGpuReports {
    /// Takes a node's report. A node speaks only for the GPUs that a job has there.
    pub fn note_report(
        &mut self,
        state: &State,
        node: &NodeName,
        report: Vec<IdleGpus>,
        now: Time,
    ) {
        for IdleGpus { id, idle } in report {
            let gpus = gpus_on(state, id, node);
            let since = idle.into_iter().take(gpus);
            let since: Vec<Time> = since.map(|idle| Time(now.0.saturating_sub(idle.0))).collect();
            self.forget_step(id, node);
            if !since.is_empty() {
                self.steps.entry(id).or_default().insert(node.clone(), since);
            }
        }
    }

    fn forget_step(&mut self, id: AttemptId, node: &NodeName) {
        if let Some(nodes) = self.steps.get_mut(&id) {
            nodes.remove(node);
            if nodes.is_empty() {
                self.steps.remove(&id);
            }
        }
    }

    /// Forgets the reports of a node, which reports again in its new session.
    pub fn forget_node(&mut self, node: &NodeName) {
        self.steps.retain(|_, nodes| {
            nodes.remove(node);
            !nodes.is_empty()
        });
    }

    /// Forgets all reports.
    pub fn clear(&mut self) {
        self.steps.clear();
    }

    /// Forgets the jobs that have ended, and nodes that a job has given up.
    pub fn prune(&mut self, state: &State) {
        self.steps.retain(|id, nodes| {
            nodes.retain(|node, since| gpus_on(state, *id, node) >= since.len());
            !nodes.is_empty()
        });
    }

    /// The number of GPUs that have been idle for at least this long.
    #[must_use]
    pub fn count(&self, state: &State, (at_least, now): (Span, Time)) -> u32 {
        self.jobs((state, &Viewer::ALL), (at_least, now)).iter().map(|one| one.idle_gpus.0).sum()
    }

    /// The running jobs of the viewer with GPUs that have been idle for at least this long, those
    /// with the most such GPUs first.
    #[must_use]
    pub fn jobs(
        &self,
        (state, viewer): (&State, &Viewer),
        (at_least, now): (Span, Time),
    ) -> Vec<IdleJob> {
        let is_long = |since: &&Time| now.since(**since) >= at_least;
        let idle_job = |(id, nodes): (&AttemptId, &BTreeMap<NodeName, Vec<Time>>)| {
            let has_gpus = |node: &&NodeName| gpus_on(state, *id, node) > 0;
            let idle = |node: &NodeName| nodes[node].iter().filter(is_long).copied();
            let nodes: Vec<&NodeName> = nodes.keys().filter(has_gpus).collect();
            let all: Vec<Time> = nodes.iter().flat_map(|node| idle(node)).collect();
            let idle_since = all.iter().max().copied()?;
            let nodes = nodes.into_iter().filter(|node| idle(node).next().is_some());
            Some(IdleJob {
                job: running_job((state, viewer), id.key)?,
                idle_gpus: Gpus(u32::try_from(all.len()).unwrap_or(u32::MAX)),
                idle_since,
                idle_nodes: nodes.cloned().collect(),
            })
        };
        let mut jobs: Vec<IdleJob> = self.steps.iter().filter_map(idle_job).collect();
        jobs.sort_by_key(|one| (Reverse(one.idle_gpus), one.idle_since, one.job.key));
        jobs
    }
}

/// The number of GPUs that a running attempt has on a node now; 0 if it is another attempt's turn.
fn gpus_on(state: &State, id: AttemptId, node: &NodeName) -> usize {
    let element = state.element(id.key).map(|(_, element)| element);
    let element = element.filter(|one| one.attempt == id.attempt && one.phase == Phase::Running);
    let run = element.and_then(|element| element.run.as_ref());
    run.and_then(|run| Some(run.staying().on(node)?.gpus.len())).unwrap_or(0)
}

#[cfg(test)]
mod tests;
