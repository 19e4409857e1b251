//! Checks that a job's nodes are as near to each other as it requires. Preferences are not checked.

use super::Judge;
use crate::model::job::WaitingJob;
use common::id::SwitchName;
use common::resource::{Allocation, Share};

impl Judge<'_> {
    /// All nodes, or those of each block, are below one switch. A single node always qualifies.
    pub(super) fn nearness(&mut self, job: &WaitingJob, allocation: &Allocation) {
        let Some(near) = job.request.near.filter(|near| near.required) else { return };
        let shares = allocation.shares();
        let block = job.request.segment.map_or(shares.len(), |nodes| nodes.0 as usize);
        let topology = &self.snapshot.policy().topology.0;
        let switch = |share: &Share| -> Option<SwitchName> {
            topology.get(&share.node).and_then(|position| position.at(near.level)).cloned()
        };
        let is_near = |block: &[Share]| {
            let first = switch(&block[0]);
            block.len() == 1 || first.is_some() && block.iter().all(|share| switch(share) == first)
        };
        let all_near = shares.chunks(block.max(1)).all(is_near);
        self.require(all_near, "gets nodes further apart than it allows");
    }
}
