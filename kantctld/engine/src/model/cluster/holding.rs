//! What running jobs hold of the nodes, and the sums that follow from it.

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::bundle::Bundle;
use crate::model::cluster::group::{Group, GroupIndex, Sums};
use crate::model::cluster::node::{Holder, Node};
use crate::model::job::RunningJob;
use std::collections::BTreeSet;
use std::sync::Arc;

impl ClusterIndex {
    /// Notes that a job holds its allocation. Unknown nodes are left out.
    pub fn hold(&mut self, job: &Arc<RunningJob>) {
        let shares = job.allocation.shared();
        self.change_nodes(job, |node, rank| node.add(Arc::new(Holder::new(job, shares, rank))));
    }

    /// Frees a job's allocation.
    pub fn release(&mut self, job: &RunningJob) {
        self.change_nodes(job, |node, _| node.remove(job.key));
    }

    /// Changes the nodes of a job. The sums of each group are updated once, not for each node.
    fn change_nodes(&mut self, job: &RunningJob, change: impl Fn(&mut Node, usize)) {
        let mut groups = BTreeSet::new();
        self.last_version += 1;
        for (rank, share) in job.allocation.shares().iter().enumerate() {
            if let Some(at) = self.find(&share.node) {
                let node = &mut self.nodes[at.at()];
                let before = node.first_end();
                change(node, rank);
                let after = node.first_end();
                self.versions[at.at()] = self.last_version;
                groups.insert(node.group);
                if self.is_laid_out && after != before {
                    self.by_end.remove(&(before, at));
                    self.by_end.insert((after, at));
                }
            } else if let Some(node) = self.arrivals.get_mut(&share.node) {
                change(node, rank);
            }
        }
        self.count(groups);
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
