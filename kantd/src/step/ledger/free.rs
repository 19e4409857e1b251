//! The CPUs and GPUs of the job that a step may have on a node: those not exclusively another
//! step's, and of the GPUs the least used.

use super::{Entry, StepLedger};
use common::cpuset::CpuSet;
use common::id::NodeName;
use common::resource::{Allocation, Share};
use common::time::Time;
use common::wire::node::{StepAnswer, StepAsk, StepGpus, StepShare};

impl StepLedger {
    /// The job's GPUs (if the step asks for GPUs) and CPUs on a node, less those of open steps;
    /// negative where steps share them.
    pub(super) fn free_amounts(
        &self,
        ask: &StepAsk,
        node: &NodeName,
        job: &Allocation,
        now: Time,
    ) -> (i64, i64) {
        let Some(has) = job.shares().iter().find(|share| share.node == *node) else {
            return (i64::MIN, i64::MIN);
        };
        let gpus_of = |share: &StepShare| share.gpus.as_ref().map_or(0, Vec::len) as i64;
        let (mut gpus, mut cpus) = (has.gpus.len() as i64, i64::from(has.cpus.len()));
        for (entry, share) in self.open_shares(node, now) {
            gpus -= gpus_of(share);
            let used = i64::from(share.tasks).saturating_mul(i64::from(entry.ask.cpus_each.max(1)));
            cpus = cpus.saturating_sub(used);
        }
        (if ask.gpus == StepGpus::All { 0 } else { gpus }, cpus)
    }

    /// Shares of all open steps on a node.
    fn open_shares(
        &self,
        node: &NodeName,
        now: Time,
    ) -> impl Iterator<Item = (&Entry, &StepShare)> {
        let open = self.steps.iter().filter(move |entry| entry.is_open(now));
        let node = node.clone();
        open.flat_map(|entry| entry.view.shares.iter().map(move |share| (entry, share)))
            .filter(move |(_, share)| share.node == node)
    }

    pub(super) fn choose_cpus(
        &self,
        ask: &StepAsk,
        tasks: u32,
        has: &Share,
        now: Time,
    ) -> Result<CpuSet, StepAnswer> {
        if !ask.exclusive {
            return Ok(has.cpus.clone());
        }
        let wanted = tasks.saturating_mul(ask.cpus_each.max(1));
        if wanted > has.cpus.len() {
            return Err(StepAnswer::Refused(format!(
                "the step asks for {wanted} CPUs on node {}, where the job has {}",
                has.node,
                has.cpus.len()
            )));
        }
        let taken: CpuSet = self
            .open_shares(&has.node, now)
            .filter(|(entry, _)| entry.holds_exclusively(now))
            .flat_map(|(_, share)| share.cpus.iter())
            .collect();
        let free = has.cpus.iter().filter(|cpu| !taken.contains(*cpu));
        let chosen: CpuSet = free.take(wanted as usize).collect();
        if chosen.len() < wanted {
            return Err(StepAnswer::Busy(format!(
                "the step asks for {wanted} exclusive CPUs on node {}, where {} of the job's are \
                 free",
                has.node,
                chosen.len()
            )));
        }
        Ok(chosen)
    }

    pub(super) fn choose_gpus(
        &self,
        ask: &StepAsk,
        count: u32,
        has: &Share,
        now: Time,
    ) -> Result<Vec<u32>, StepAnswer> {
        let all = u32::try_from(has.gpus.len()).unwrap_or(u32::MAX);
        if count > all {
            return Err(StepAnswer::Refused(format!(
                "the step asks for {count} GPUs on node {}, where the job has {all}",
                has.node
            )));
        }
        let users = |gpu: u32, all: bool| {
            let of = |(entry, share): &(&Entry, &StepShare)| {
                let uses = share.gpus.as_ref().is_some_and(|gpus| gpus.contains(&gpu));
                uses && (all || entry.holds_exclusively(now))
            };
            self.open_shares(&has.node, now).filter(of).count()
        };
        let mut chosen: Vec<u32> =
            (0..all).filter(|gpu| !ask.exclusive || users(*gpu, false) == 0).collect();
        if (chosen.len() as u64) < u64::from(count) {
            return Err(StepAnswer::Busy(format!(
                "the step asks for {count} exclusive GPUs on node {}, where {} of the job's are \
                 free",
                has.node,
                chosen.len()
            )));
        }
        chosen.sort_by_key(|gpu| (users(*gpu, true), *gpu));
        chosen.truncate(count as usize);
        chosen.sort_unstable();
        Ok(chosen)
    }
}
