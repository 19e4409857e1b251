//! What is left on a node, as the judge counts it.

use super::Judge;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use common::id::GpuIndex;
use common::resource::Share;
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Left {
    pub node: NodeSnapshot,
    cpus: BTreeSet<u32>,
    /// Thousandths of each GPU.
    gpus: BTreeMap<GpuIndex, u32>,
    memory_bytes: u64,
    jobs: u32,
    closed: bool,
    groups: BTreeMap<String, u32>,
}

impl Left {
    pub fn of_idle_node(node: NodeSnapshot) -> Self {
        let has = &node.inventory;
        Self {
            cpus: has.cpus.iter().collect(),
            gpus: has.gpus.iter().map(|gpu| (gpu.index, 1000)).collect(),
            memory_bytes: has.memory.0,
            jobs: 0,
            closed: false,
            groups: BTreeMap::new(),
            node,
        }
    }

    /// Subtracts what a job already holds. What the node no longer has is ignored.
    pub fn subtract_held(&mut self, share: &Share, whole_node: bool, group: Option<&str>) {
        for cpu in share.cpus.iter() {
            self.cpus.remove(&cpu);
        }
        let each = share.gpu_milli.map_or(1000, |milli| milli.0);
        for index in &share.gpus {
            if let Some(milli) = self.gpus.get_mut(index) {
                *milli = milli.saturating_sub(each);
            }
        }
        self.memory_bytes = self.memory_bytes.saturating_sub(share.memory.0);
        self.count_job(whole_node, group);
    }

    fn count_job(&mut self, whole_node: bool, group: Option<&str>) {
        self.jobs += 1;
        self.closed |= whole_node;
        if let Some(group) = group {
            *self.groups.entry(group.to_owned()).or_default() += 1;
        }
    }

    /// Subtracts a share. Returns what of it is not there.
    fn take(&mut self, job: &WaitingJob, share: &Share) -> Vec<String> {
        let mut faults = Vec::new();
        if self.closed {
            faults.push("another job has the whole node".to_owned());
        }
        let has = &self.node.inventory;
        if job.request.exclusive {
            if self.jobs > 0 {
                faults.push("it wants the whole node, which is in use".to_owned());
            }
            if share.cpus != has.cpus || share.gpus.len() != has.gpus.len() {
                faults.push("it wants the whole node and gets less".to_owned());
            }
        }
        let taken = |cpu: &u32| !self.cpus.remove(cpu);
        faults.extend(share.cpus.iter().filter(taken).map(|cpu| format!("CPU {cpu} is not free")));
        let each = share.gpu_milli.map_or(1000, |milli| milli.0);
        for index in &share.gpus {
            match self.gpus.get_mut(index).filter(|milli| **milli >= each) {
                Some(milli) => *milli -= each,
                None => faults.push(format!("GPU {index} is not free")),
            }
        }
        match self.memory_bytes.checked_sub(share.memory.0) {
            Some(rest) => self.memory_bytes = rest,
            None => faults.push(format!("{} memory is more than is free", share.memory)),
        }
        let apart = job.request.apart.as_ref();
        self.count_job(job.request.exclusive, apart.map(|apart| apart.group.as_str()));
        if let Some(apart) = apart
            && let (Some(jobs), Some(most)) = (self.groups.get(&apart.group), apart.per_node_max)
            && *jobs > most
        {
            faults.push(format!("more than {most} jobs of group {}", apart.group));
        }
        faults
    }
}

impl Judge<'_> {
    /// Subtracts a share from what is left on its node.
    pub(super) fn take(&mut self, job: &WaitingJob, share: &Share) {
        let Some(left) = self.left.get_mut(&share.node) else { return };
        for fault in left.take(job, share) {
            self.fault(format!("on {}: {fault}", share.node));
        }
    }
}
