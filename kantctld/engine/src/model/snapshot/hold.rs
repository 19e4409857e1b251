//! What each running job holds: its claim in the usage accounting, its nodes, and its place among
//! the preemption candidates.

use super::Snapshot;
use crate::model::cluster::NodeIndex;
use crate::model::hold::{GivenUp, Hold};
use crate::model::job::RunningJob;
use crate::model::judge_ledger::Ledger;
use crate::model::shares::RunningIndex;
use crate::model::usage_accounting::{Claim, UsageAccounting};
use crate::model::victim_index::VictimIndex;
use common::id::JobKey;
use common::resource::Share;
use common::unit::Nodes;
use std::sync::Arc;

impl Snapshot {
    /// Counts all running jobs again, after nodes or the policy changed.
    pub(crate) fn rebuild_accounting(&mut self) {
        self.accounting = UsageAccounting::new(&self.policy, &self.capacity);
        self.holds.clear();
        self.members.clear();
        self.ends.clear();
        self.victim_index = VictimIndex::default();
        self.running_index = RunningIndex::default();
        self.ledger = Ledger::default();
        self.ledger.set_capacity(&self.cluster);
        let running: Vec<Arc<RunningJob>> = self.running.values().cloned().collect();
        for job in running {
            let places = self.cluster.node_indices(job.allocation.shares());
            self.count_running(&job, &places);
        }
    }

    /// `places`: the positions of its nodes.
    pub(super) fn count_running(&mut self, job: &Arc<RunningJob>, places: &[Option<NodeIndex>]) {
        let claim =
            crate::model::claims::of_running(job, places, &self.cluster, &mut self.accounting);
        self.accounting.add(&claim, job.ends_by);
        let nodes = nodes_with(job.allocation.shares(), places);
        let part = (job.leaving > 0 && !job.ending)
            .then(|| Arc::new(self.given_up_beyond(job, job.staying_shares().len())));
        let surplus = self.given_up_to_minimum(job);
        if let Some(member) = self.running_index.add(&self.policy, &self.cluster, job) {
            self.members.insert(job.key, member);
        }
        let hold = Arc::new(Hold { claim, nodes, part, surplus });
        self.victim_index.add(&self.policy, job, &hold);
        self.ledger.add_running(&self.policy, &self.cluster, job);
        if let Some(end) = job.ends_by.filter(|_| self.has_bounds && !job.ending) {
            self.ends.insert((end, job.key), hold.clone());
        }
        let before = self.holds.insert(job.key, hold);
        assert!(before.is_none(), "{} is counted twice", job.key);
    }

    pub(super) fn uncount_running(&mut self, job: &RunningJob) {
        if let Some(hold) = self.holds.remove(&job.key) {
            self.accounting.remove(&hold.claim, job.ends_by);
            if let Some(end) = job.ends_by {
                self.ends.remove(&(end, job.key));
            }
            self.victim_index.remove(&self.policy, job, &hold);
            if let Some(member) = self.members.remove(&job.key) {
                self.running_index.remove(job, &member);
            }
            self.ledger.remove_running(&self.policy, &self.cluster, job);
        }
    }

    /// What a running job would give up if it kept its first `keeps` nodes.
    pub(crate) fn given_up_beyond(&self, job: &RunningJob, keeps: usize) -> GivenUp {
        let (stays, goes) = job.allocation.shares().split_at_checked(keeps).unwrap_or_default();
        let claim = |jobs, shares| {
            crate::model::claims::of_part(job, jobs, shares, &self.cluster, &self.accounting)
        };
        let keeps = Nodes(u32::try_from(stays.len()).unwrap_or(u32::MAX));
        GivenUp {
            keeps,
            claim: claim(0, goes),
            rest: claim(1, stays),
            nodes: nodes_with(goes, &self.cluster.node_indices(goes)),
        }
    }

    fn given_up_to_minimum(&self, job: &RunningJob) -> Option<GivenUp> {
        let least = job.nodes_min.filter(|_| job.may_be_preempted())?;
        let is_asked = !self.policy.fair_sharing && VictimIndex::may_preempt_any(&self.policy);
        is_asked.then(|| self.given_up_beyond(job, least.0 as usize))
    }

    /// What shrinking jobs give up.
    pub(crate) fn parts_given_up(&self) -> impl Iterator<Item = (JobKey, &Arc<GivenUp>)> {
        let part = |key: &JobKey| Some((*key, self.holds.get(key)?.part.as_ref()?));
        self.giving_up.keys().filter_map(part)
    }

    /// A running job's claim in the usage accounting.
    pub(crate) fn claim_of(&self, key: JobKey) -> Option<&Claim> {
        self.holds.get(&key).map(|hold| &hold.claim)
    }

    /// A running job's nodes, with the number of GPUs it holds there, as of the last layout of the
    /// nodes.
    pub(crate) fn nodes_of(&self, key: JobKey) -> &[(NodeIndex, u32)] {
        self.holds.get(&key).map_or(&[], |hold| &hold.nodes)
    }
}

/// The nodes of these shares, at these positions, with the number of GPUs held there.
fn nodes_with(shares: &[Share], places: &[Option<NodeIndex>]) -> Vec<(NodeIndex, u32)> {
    let gpus = |share: &Share| u32::try_from(share.gpus.len()).unwrap_or(u32::MAX);
    let known = shares.iter().zip(places).filter_map(|(share, at)| Some(((*at)?, gpus(share))));
    known.collect()
}
