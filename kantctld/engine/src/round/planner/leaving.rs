//! Jobs and parts of jobs that will be gone soon: ending jobs, and the last nodes of jobs that
//! shrink.
//!
//! Example, two nodes of 8 GPUs. Job 1 runs on both and accepts one. Job 2 asks for 8: job 1 gives
//! up its second node, which is kept for job 2, and runs on on the first.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::decision::Decision;
use crate::model::hold::GivenUp;
use crate::model::job::RunningJob;
use crate::model::usage_accounting::Claim;
use common::id::{JobKey, NodeName};
use common::job::PreemptReason;
use common::unit::Nodes;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A victim, why it is preempted, and how many of its first nodes it keeps. `None`: none, it is
/// stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Victim<'a> {
    pub job: &'a Arc<RunningJob>,
    pub reason: PreemptReason,
    pub keeps: Option<Nodes>,
}

impl<'a> RoundState<'a> {
    /// Jobs that will be gone soon: they are ending, or are preempted in this round.
    pub fn on_the_way_out(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.snapshot.ending.keys().chain(&self.asks.chosen).copied()
    }

    /// Whether the job is one of those.
    pub fn is_on_the_way_out(&self, key: JobKey) -> bool {
        self.snapshot.ending.contains_key(&key) || self.asks.chosen.contains(&key)
    }

    /// Whether the job can no longer be preempted or shrunk.
    pub fn is_already_preempted(&self, key: JobKey) -> bool {
        self.asks.chosen.contains(&key) || self.parts.contains_key(&key)
    }

    /// Whether a job's share of a node will be gone soon.
    pub fn goes_from(&self, key: JobKey, at: NodeIndex) -> bool {
        let leaves = |part: &Arc<GivenUp>| part.nodes.iter().any(|(node, _)| *node == at);
        self.is_on_the_way_out(key) || self.parts.get(&key).is_some_and(leaves)
    }

    /// The claims of jobs that will be gone soon, and of what shrinking jobs give up.
    pub fn claims_to_go(&self) -> impl Iterator<Item = &Claim> {
        let whole = self.on_the_way_out().filter_map(|key| self.snapshot.claim_of(key));
        whole.chain(self.parts.values().map(|part| &part.claim))
    }

    /// What shrinking jobs give up, and whether they hold those nodes whole.
    pub fn parts_to_go(&self) -> impl Iterator<Item = (bool, &GivenUp)> {
        let whole = |key| self.snapshot.running_job(key).is_some_and(|job| job.whole_nodes);
        self.parts.iter().map(move |(key, part)| (whole(*key), &**part))
    }

    /// Frees all that a job holds, on trial.
    pub fn release(&mut self, key: JobKey) {
        for (at, _) in self.snapshot.nodes_of(key) {
            self.trial.give_back(*at, key);
        }
    }

    /// Frees all that will be gone soon, on trial.
    pub fn release_all(&mut self) {
        let leaving: Vec<JobKey> = self.on_the_way_out().collect();
        leaving.into_iter().for_each(|key| self.release(key));
        for (key, part) in &self.parts {
            part.nodes.iter().for_each(|(at, _)| self.trial.give_back(*at, *key));
        }
    }

    /// Frees all that will be gone soon from these nodes, and what these victims hold there, on
    /// trial.
    pub(super) fn release_nodes(&mut self, nodes: &[NodeIndex], victims: &[Victim<'a>]) {
        let by_key: BTreeMap<JobKey, &Victim<'a>> =
            victims.iter().map(|victim| (victim.job.key, victim)).collect();
        for at in nodes {
            let name = &self.trial.cluster.node(*at).name;
            let yields = |key: &JobKey| by_key.get(key).is_some_and(|victim| victim.leaves(name));
            let holders = self.trial.holders(*at).iter().map(|holder| holder.key);
            let goes = |key: &JobKey| yields(key) || self.goes_from(*key, *at);
            let gone: Vec<JobKey> = holders.filter(goes).collect();
            gone.into_iter().for_each(|key| self.trial.give_back(*at, key));
        }
    }

    /// The claim that a victim frees.
    pub(super) fn claim_given_up(&self, victim: &Victim<'_>) -> Option<Cow<'a, Claim>> {
        match victim.keeps {
            None => self.snapshot.claim_of(victim.job.key).map(Cow::Borrowed),
            Some(keeps) => {
                Some(Cow::Owned(self.snapshot.given_up_beyond(victim.job, keeps.0 as usize).claim))
            }
        }
    }

    /// Makes the victim yield to that job.
    pub(super) fn preempt_victim(&mut self, victim: &Victim<'_>, by: JobKey) {
        let Victim { job, reason, keeps } = *victim;
        self.yielders.entry(by).or_insert((0, job.key)).0 += 1;
        let (key, attempt) = (job.key, job.attempt);
        let decision = match keeps {
            Some(keeps) => {
                let part = self.snapshot.given_up_beyond(job, keeps.0 as usize);
                self.parts.insert(key, Arc::new(part));
                Decision::Shrink { key, attempt, keeps, by, reason }
            }
            None => {
                self.asks.chosen.insert(key);
                let (mode, to) = (job.victim_mode, Vec::new());
                Decision::Preempt { key, attempt, by, reason, mode, to }
            }
        };
        self.decisions.push(decision);
    }
}

impl Victim<'_> {
    /// Whether the victim leaves this node.
    fn leaves(&self, node: &NodeName) -> bool {
        let Some(keeps) = self.keeps else { return true };
        let stays = self.job.allocation.shares().iter().take(keeps.0 as usize);
        stays.into_iter().all(|share| share.node != *node)
    }
}
