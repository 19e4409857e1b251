//! The victims named so far for one job, by node: what they release on one node counts together.

use super::board::Board;
use super::world::{JobAt, NodeAt, TaskAt};
use std::collections::{BTreeMap, BTreeSet};

/// Named victims, by node.
#[derive(Default)]
pub(super) struct Named {
    bundles: Vec<Vec<TaskAt>>,
    by_node: BTreeMap<NodeAt, Vec<usize>>,
    /// Where jobs lose their last tasks first: the bundles of each job, and the job of each bundle.
    by_job: BTreeMap<JobAt, Vec<usize>>,
    jobs: Vec<JobAt>,
}

impl Named {
    /// Adds a bundle. Returns the sets of nodes that are worth a trial with it.
    pub fn add(&mut self, board: &Board<'_>, bundle: Vec<TaskAt>) -> Vec<BTreeSet<NodeAt>> {
        let place = |task: &TaskAt| board.seats[task.0].place.as_ref().map(|place| place.node);
        let nodes: BTreeSet<NodeAt> = bundle.iter().filter_map(place).collect();
        for node in &nodes {
            self.by_node.entry(*node).or_default().push(self.bundles.len());
        }
        let job = bundle.first().map(|task| board.world.job_of[task.0]);
        if let Some(job) = job.filter(|_| board.world.settings.last_first) {
            self.by_job.entry(job).or_default().push(self.bundles.len());
            self.jobs.push(job);
        }
        self.bundles.push(bundle);
        let mut sets: Vec<BTreeSet<NodeAt>> =
            nodes.iter().map(|node| BTreeSet::from([*node])).collect();
        if nodes.len() > 1 {
            sets.push(nodes);
        }
        sets
    }

    /// All bundles that hold something on these nodes, in the order in which they were named. Where
    /// the last tasks of a job leave first, with the bundles named before of the same job.
    pub fn on(&self, nodes: &BTreeSet<NodeAt>) -> impl Iterator<Item = Vec<TaskAt>> {
        let there = nodes.iter().filter_map(|node| self.by_node.get(node)).flatten();
        let mut there: BTreeSet<usize> = there.copied().collect();
        let before = |at: &usize| {
            let named = self.jobs.get(*at).and_then(|job| self.by_job.get(job));
            let before = move |other: &&usize| *other < at;
            named.into_iter().flatten().take_while(before).copied().collect::<Vec<_>>()
        };
        let earlier: Vec<usize> = there.iter().flat_map(before).collect();
        there.extend(earlier);
        there.into_iter().map(|at| self.bundles[at].clone())
    }
}
