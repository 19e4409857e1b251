//! What running jobs hold of the nodes, and the sums that follow from it.

use crate::model::cluster::bundle::Bundle;
use crate::model::cluster::group::{Group, GroupIndex, Sums};
use crate::model::cluster::node::{HoldingJob, Node};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::job::RunningJob;
use std::collections::BTreeSet;
use std::sync::Arc;

impl ClusterIndex {
    /// Notes that a job holds its allocation. Unknown nodes are left out.
    pub fn hold(&mut self, job: &Arc<RunningJob>) {
        let holding = HoldingJob::new(job, job.allocation.shared().clone());
        self.change_nodes(job, holding.holders(), Node::add);
    }

    /// Frees a job's allocation. Returns its nodes.
    pub fn release(&mut self, job: &RunningJob) -> Vec<NodeIndex> {
        self.change_nodes(job, std::iter::repeat(job.key), Node::remove)
    }

    /// Changes the nodes of a job, each with the value of its rank, and returns them. The sums of
    /// each group are updated once, not for each node.
    fn change_nodes<V>(
        &mut self,
        job: &RunningJob,
        values: impl Iterator<Item = V>,
        change: impl Fn(&mut Node, V),
    ) -> Vec<NodeIndex> {
        let mut changed = Vec::with_capacity(job.allocation.shares().len());
        let mut groups = BTreeSet::new();
        self.last_version += 1;
        for (share, value) in job.allocation.shares().iter().zip(values) {
            if let Some(at) = self.find(&share.node) {
                changed.push(at);
                let node = &mut self.nodes[at.at()];
                let before = node.first_end();
                change(node, value);
                let after = node.first_end();
                self.versions[at.at()] = self.last_version;
                groups.insert(node.group);
                if self.is_laid_out && after != before {
                    self.by_end.remove(&(before, at));
                    self.by_end.insert((after, at));
                }
            } else if let Some(node) = self.arrivals.get_mut(&share.node) {
                change(node, value);
            }
        }
        self.count(groups);
        changed
    }

    /// Updates the sums of these groups.
    pub(super) fn count(&mut self, groups: BTreeSet<GroupIndex>) {
        if !self.is_laid_out {
            return;
        }
        let mut bundles = BTreeSet::new();
        for group in groups {
            let Group { nodes, bundle, .. } = &self.groups[group.0 as usize];
            let sums = Sums::of(nodes.iter().map(|at| self.nodes[at.at()].counted()));
            self.sums[group.0 as usize] = sums;
            bundles.insert(bundle.0 as usize);
        }
        for bundle in bundles {
            self.bundle_sums[bundle] = self.sum_up(&self.bundles[bundle]);
        }
    }

    pub(super) fn sum_up(&self, bundle: &Bundle) -> Sums {
        Sums::all(bundle.groups.iter().map(|group| &self.sums[group.0 as usize]))
    }
}
