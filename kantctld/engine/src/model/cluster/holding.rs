//! What running jobs hold of the nodes, and the sums that follow from it.

use crate::model::cluster::bundle::Bundle;
use crate::model::cluster::group::{Group, GroupIndex, Sums};
use crate::model::cluster::node::{HoldingJob, Node};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::job::RunningJob;
use common::resource::Share;
use std::collections::BTreeSet;
use std::sync::Arc;

impl ClusterIndex {
    /// The position of each of these shares. `None`: its node is not known.
    pub fn node_indices(&self, shares: &[Share]) -> Vec<Option<NodeIndex>> {
        shares.iter().map(|share| self.find(&share.node)).collect()
    }

    /// Notes that a job holds its allocation, on nodes at these positions. Unknown nodes are left
    /// out.
    pub fn hold(&mut self, job: &Arc<RunningJob>, places: &[Option<NodeIndex>]) {
        let holding = HoldingJob::new(job, job.allocation.shares_arc().clone());
        self.change_nodes(job, places, holding.holders(), Node::add);
    }

    /// Frees a job's allocation, on nodes at these positions.
    pub fn release(&mut self, job: &RunningJob, places: &[Option<NodeIndex>]) {
        self.change_nodes(job, places, std::iter::repeat(job.key), Node::remove);
    }

    /// Changes the nodes of a job, each with the value of its rank. The sums of each group are
    /// updated once, not for each node.
    fn change_nodes<V>(
        &mut self,
        job: &RunningJob,
        places: &[Option<NodeIndex>],
        values: impl Iterator<Item = V>,
        change: impl Fn(&mut Node, V),
    ) {
        let mut groups = BTreeSet::new();
        self.last_version += 1;
        if let Some(by_end) = self.by_end.take() {
            self.last_by_end = by_end.into_iter().map(|(_, at)| at).collect();
        }
        let mut last = None;
        for ((share, place), value) in job.allocation.shares().iter().zip(places).zip(values) {
            if let Some(at) = place {
                let node = &mut self.nodes[at.at()];
                change(node, value);
                self.versions[at.at()] = self.last_version;
                // Mostly the same as the one before.
                if last.replace(node.group) != Some(node.group) {
                    groups.insert(node.group);
                }
            } else if let Some(node) = self.arrivals.get_mut(&share.node) {
                change(node, value);
            }
        }
        self.update_group_sums(groups);
    }

    /// Updates the sums of these groups.
    pub(super) fn update_group_sums(&mut self, groups: BTreeSet<GroupIndex>) {
        if !self.is_laid_out {
            return;
        }
        let mut bundles = BTreeSet::new();
        for group in groups {
            let Group { nodes, bundle, .. } = &self.groups[group.0 as usize];
            let sums = Sums::of(nodes.iter().map(|at| self.nodes[at.at()].to_counted()));
            self.sums[group.0 as usize] = sums;
            bundles.insert(bundle.0 as usize);
        }
        for bundle in bundles {
            self.bundle_sums[bundle] = self.sum_up(&self.bundles[bundle]);
        }
    }

    pub(super) fn sum_up(&self, bundle: &Bundle) -> Sums {
        Sums::sum_over(bundle.groups.iter().map(|group| &self.sums[group.0 as usize]))
    }
}
