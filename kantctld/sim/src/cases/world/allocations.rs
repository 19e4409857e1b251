//! What the running tasks of a case hold: CPUs, memory and GPUs by number.

use super::super::error::{ImportError, unknown, unsupported};
use super::super::format::{Case, NodeText, TaskText};
use super::nodes::{cpu_unit, mig_kind, node_name};
use super::requests::{milli, shares_gpus};
use common::cpuset::CpuSet;
use common::gpu::GpuKind;
use common::gpu_parts::PartSize;
use common::id::GpuIndex;
use common::resource::{Allocation, Share};
use common::unit::{Bytes, GpuMilli, Tasks};
use engine::NodeSnapshot;
use std::collections::BTreeMap;

/// What is in use on one node.
struct Room<'c> {
    node: &'c NodeSnapshot,
    cpus: u32,
    /// Of each GPU, in thousandths.
    gpus: Vec<u32>,
    /// The devices that tasks share, by the name of the group.
    shared: BTreeMap<&'c str, usize>,
}

/// What is in use on all nodes.
pub(super) struct NodeUsages<'c> {
    rooms: BTreeMap<&'c str, Room<'c>>,
    cpu_unit: i64,
}

impl<'c> NodeUsages<'c> {
    pub fn new(case: &'c Case, nodes: &'c [NodeSnapshot]) -> Self {
        let room = |(text, node): (&'c NodeText, &'c NodeSnapshot)| {
            let gpus = vec![0; node.inventory.gpus.len()];
            (text.name.as_str(), Room { node, cpus: 0, gpus, shared: BTreeMap::new() })
        };
        let rooms = case.nodes.iter().zip(nodes).map(room).collect();
        Self { rooms, cpu_unit: cpu_unit(case) }
    }

    /// Takes what these tasks hold. Returns it with the tasks in the order of the shares.
    pub fn allocate_tasks(
        &mut self,
        tasks: &[(usize, &'c TaskText)],
    ) -> Result<(Allocation, Vec<usize>), ImportError> {
        let mut shares: Vec<(Share, Vec<usize>)> = Vec::new();
        for (at, task) in tasks {
            let name = task.node.as_deref().unwrap_or_default();
            let room = self.rooms.get_mut(name).ok_or_else(|| unknown("node", name))?;
            let (more, node) = (room.allocate_task(task, self.cpu_unit)?, node_name(name)?);
            match shares.iter_mut().find(|(share, _)| share.node == node) {
                Some((share, tasks)) => {
                    add(share, more);
                    tasks.push(*at);
                }
                None => shares.push((more, vec![*at])),
            }
        }
        let (shares, order): (Vec<Share>, Vec<Vec<usize>>) = shares.into_iter().unzip();
        let allocation = Allocation::new(shares).map_err(|_| unknown("share", "of a job"))?;
        Ok((allocation, order.concat()))
    }
}

fn add(share: &mut Share, more: Share) {
    share.tasks += more.tasks;
    share.cpus = share.cpus.union(&more.cpus);
    share.memory = Bytes(share.memory.0 + more.memory.0);
    share.gpus = share.gpus.iter().chain(&more.gpus).copied().collect();
    share.gpus.sort_unstable();
}

impl<'c> Room<'c> {
    fn allocate_task(&mut self, task: &'c TaskText, cpu_unit: i64) -> Result<Share, ImportError> {
        let cpus = u32::try_from(task.cpu_milli / cpu_unit).unwrap_or(u32::MAX);
        let from = self.cpus;
        self.cpus = from.saturating_add(cpus);
        if self.cpus > self.node.inventory.cpus.len() {
            return unsupported("node where more is in use than it has");
        }
        let (gpus, gpu_milli) = self.allocate_gpus(task)?;
        Ok(Share {
            node: self.node.name.clone(),
            tasks: Tasks(1),
            cpus: (from..self.cpus).collect::<CpuSet>(),
            memory: Bytes(u64::try_from(task.memory_bytes).unwrap_or(0)),
            gpus: gpus.into(),
            gpu_milli,
        })
    }

    fn allocate_gpus(
        &mut self,
        task: &'c TaskText,
    ) -> Result<(Vec<GpuIndex>, Option<GpuMilli>), ImportError> {
        let whole = GpuMilli::WHOLE.0;
        if shares_gpus(task) {
            let devices = task.gpu_devices.unwrap_or(1) as usize;
            let part = self.part(task);
            let mut taken = Vec::new();
            for which in 0..devices {
                taken.push(
                    self.shared_device(task.gpu_groups.get(which).map(String::as_str), part.0)?,
                );
            }
            taken.sort_unstable();
            return Ok((taken, Some(part)));
        }
        let kind = GpuKind("gpu".to_owned());
        let profile = task.mig.iter().next();
        let asked = match profile {
            Some((profile, count)) => (mig_kind(profile), u32::try_from(*count).unwrap_or(0)),
            None => (kind, task.gpus.unwrap_or(0)),
        };
        let mut taken = Vec::new();
        for _ in 0..asked.1 {
            let all = self.node.inventory.gpus.iter().enumerate();
            let is_free =
                |(at, gpu): &(usize, &common::gpu::Gpu)| self.gpus[*at] == 0 && gpu.kind == asked.0;
            let Some((at, gpu)) = all.into_iter().find(is_free) else {
                return unsupported("node where more is in use than it has");
            };
            self.gpus[at] = whole;
            taken.push(gpu.index);
        }
        Ok((taken, None))
    }

    /// The part of each GPU that a task holds.
    fn part(&self, task: &TaskText) -> GpuMilli {
        let memory = self.node.inventory.gpus.first().map_or(Bytes::ZERO, |gpu| gpu.memory);
        match (task.gpu_fraction, task.gpu_memory_mib) {
            (Some(part), _) => milli(part),
            (None, mib) => PartSize::Memory(Bytes::from_mib(mib.unwrap_or(0))).gpu_fraction(memory),
        }
    }

    /// The device of a group, or one of its own.
    fn shared_device(
        &mut self,
        group: Option<&'c str>,
        part: u32,
    ) -> Result<GpuIndex, ImportError> {
        let known = group.and_then(|name| self.shared.get(name).copied());
        let free = || self.gpus.iter().position(|used| *used == 0);
        let fits = |at: &usize| self.gpus[*at] + part <= GpuMilli::WHOLE.0;
        let Some(at) = known.or_else(free).filter(fits) else {
            return unsupported("node where more is in use than it has");
        };
        self.gpus[at] += part;
        if let Some(name) = group {
            self.shared.insert(name, at);
        }
        Ok(self.node.inventory.gpus[at].index)
    }
}
