//! Checks that a job's nodes are as near to each other as it requires. Preferences are not checked.

use super::Judge;
use crate::model::job::WaitingJob;
use common::id::{JobKey, NodeName, SwitchName};
use common::resource::{Allocation, Share};
use std::collections::BTreeSet;

impl Judge<'_> {
    /// All nodes, or those of each block, are below one switch. A single node always qualifies.
    pub(super) fn check_same_switch(&mut self, job: &WaitingJob, allocation: &Allocation) {
        let Some(near) = job.request.near.filter(|near| near.required) else { return };
        let shares = allocation.shares();
        let block = job.request.segment.map_or(shares.len(), |nodes| nodes.0 as usize);
        let topology = &self.snapshot.policy().topology.0;
        let switch = |share: &Share| -> Option<SwitchName> {
            topology
                .get(&share.node)
                .and_then(|position| position.switch_at_level(near.level))
                .cloned()
        };
        let is_near = |block: &[Share]| {
            let first = switch(&block[0]);
            block.len() == 1 || first.is_some() && block.iter().all(|share| switch(share) == first)
        };
        let all_near = shares.chunks(block.max(1)).all(is_near);
        self.require(all_near, "gets nodes further apart than it allows");
    }

    /// The nodes of all components that start together are below one switch, if that is required.
    pub(super) fn check_components_same_switch(&mut self, first: JobKey) {
        let components: Vec<_> = self.snapshot.wait_queue.components_with(first).cloned().collect();
        let policy = self.snapshot.policy();
        let near = components.first().and_then(|one| one.near_all);
        let Some(near) = near.filter(|near| near.required) else { return };
        let topology = &policy.topology.0;
        let granted = components.iter().filter_map(|one| self.granted.get(&one.key));
        let nodes: BTreeSet<&NodeName> =
            granted.flat_map(|allocation| allocation.shares()).map(|share| &share.node).collect();
        let switch =
            |node: &NodeName| topology.get(node).and_then(|at| at.switch_at_level(near.level));
        let switches: BTreeSet<Option<&SwitchName>> = nodes.iter().map(|at| switch(at)).collect();
        let is_one = switches.len() == 1 && switches.iter().all(Option::is_some);
        self.key = first;
        self.require(
            is_one || nodes.len() == 1,
            "and its other components get nodes further apart than they allow",
        );
    }
}
