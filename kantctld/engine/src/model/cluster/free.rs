//! What is free on one node, down to single CPUs and GPUs.

use crate::model::cluster::class::{Class, bits};
use crate::model::cluster::node::Holder;
use crate::model::cluster::tally::Takes;
use common::cpuset::CpuSet;
use common::resource::{GpuList, Request, Resources};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};

/// All thousandths of a GPU.
pub(crate) const WHOLE: u16 = 1000;

/// What is free on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Free {
    pub cpus: CpuSet,
    /// The number of CPUs on wholly free cores, which can be given. Derived from `cpus`.
    pub core_cpus: Cpus,
    pub memory: Bytes,
    /// The number of GPUs, free or not.
    gpu_count: u32,
    /// The positions of wholly free GPUs in the class.
    pub gpus: u128,
    /// Free thousandths of partly used GPUs, by ascending position. Most nodes have none.
    shared: Vec<(u8, u16)>,
    /// The number of jobs that hold something here.
    pub holders: u32,
    /// Whether a job holds the whole node.
    pub closed: bool,
}

impl Free {
    /// All of an idle node.
    pub fn of_idle_node(class: &Class) -> Self {
        let count = class.gpu_count().0;
        Self {
            cpus: class.inventory.cpus.clone(),
            core_cpus: class.core_cpus,
            memory: class.inventory.memory,
            gpu_count: count,
            gpus: if count >= 128 { u128::MAX } else { (1 << count) - 1 },
            shared: Vec::new(),
            holders: 0,
            closed: false,
        }
    }

    pub const fn is_idle(&self) -> bool {
        self.holders == 0
    }

    /// Thousandths of all GPUs, free or not.
    pub const fn gpu_milli_capacity(&self) -> u32 {
        WHOLE as u32 * self.gpu_count
    }

    /// Free thousandths of all GPUs.
    pub fn milli_sum(&self) -> u32 {
        let shared: u32 = self.shared.iter().map(|(_, milli)| u32::from(*milli)).sum();
        u32::from(WHOLE) * self.gpus.count_ones() + shared
    }

    /// The most free thousandths of one GPU.
    pub fn milli_max(&self) -> u16 {
        let shared = self.shared.iter().map(|(_, milli)| *milli).max().unwrap_or(0);
        if self.gpus == 0 { shared } else { WHOLE }
    }

    /// Free thousandths of each GPU, by position.
    pub fn free_milli_by_gpu(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.gpu_count as usize).map(|at| self.milli_of(at))
    }

    /// Free thousandths of the GPU at a position.
    pub fn milli_of(&self, at: usize) -> u16 {
        if self.gpus >> at & 1 == 1 {
            return WHOLE;
        }
        let shared = self.shared.iter().find(|(other, _)| usize::from(*other) == at);
        shared.map_or(0, |(_, milli)| *milli)
    }

    /// The partly used GPUs by ascending position, with their free thousandths.
    pub fn partly_used_gpus(&self) -> &[(u8, u16)] {
        &self.shared
    }

    /// Wholly free GPUs that are not MIG devices.
    pub const fn whole_count(&self, class: &Class) -> Gpus {
        Gpus((self.gpus & class.positions_without_kind()).count_ones())
    }

    /// The wholly free GPUs that a request accepts.
    pub fn gpus_for(&self, class: &Class, request: &Request) -> u128 {
        self.gpus & class.accepted_positions(request)
    }

    /// The GPUs at these positions, ascending.
    pub fn indices(class: &Class, mask: u128) -> GpuList {
        bits(mask).filter_map(|at| class.gpu(at)).collect()
    }

    /// The tightest GPUs with room for a share each, by position. Fewer than asked for if there are
    /// not enough.
    pub fn tightest(&self, takes: Takes) -> Vec<usize> {
        let mut all: Vec<usize> = self.with_room(takes.accepted, takes.milli).collect();
        all.sort_by_key(|at| self.milli_of(*at));
        first(all, takes.shared)
    }

    /// The first GPUs with room for a share each.
    pub fn first_with(&self, takes: Takes) -> Vec<usize> {
        first(self.with_room(takes.accepted, takes.milli).collect(), takes.shared)
    }

    /// The emptiest GPUs with room for a share each.
    pub fn emptiest(&self, takes: Takes) -> Vec<usize> {
        let mut all: Vec<usize> = self.with_room(takes.accepted, takes.milli).collect();
        all.sort_by_key(|at| std::cmp::Reverse(self.milli_of(*at)));
        first(all, takes.shared)
    }

    /// The GPUs with room for a share, by position, ascending.
    pub fn with_room(&self, accepted: u128, share: GpuMilli) -> impl Iterator<Item = usize> + '_ {
        let has_room =
            move |at: &usize| accepted >> at & 1 == 1 && u32::from(self.milli_of(*at)) >= share.0;
        (0..self.gpu_count as usize).filter(has_room)
    }

    /// The CPUs on wholly free cores, the memory, and the wholly free GPUs.
    pub const fn resources(&self) -> Resources {
        let (cpus, memory) = (self.core_cpus, self.memory);
        Resources { cpus, memory, gpus: Gpus(self.gpus.count_ones()) }
    }

    /// Whether the node holds this much.
    pub fn holds(&self, takes: Takes) -> bool {
        if self.closed || (takes.whole_node && !self.is_idle()) {
            return false;
        }
        let Resources { cpus, memory, gpus } = takes.resources;
        cpus <= self.core_cpus
            && memory <= self.memory
            && (gpus == Gpus::ZERO || (self.gpus & takes.accepted).count_ones() >= gpus.0)
            && (takes.milli == GpuMilli::ZERO
                || self.with_room(takes.accepted, takes.milli).count() >= takes.shared.0 as usize)
    }

    /// A job takes its share of the node.
    pub fn take(&mut self, class: &Class, holder: &Holder) {
        self.cpus.remove_all(&holder.share().cpus);
        self.core_cpus = core_cpus(class, &self.cpus);
        self.memory -= holder.memory;
        self.take_gpus(holder.gpus, holder.part);
        self.holders += 1;
        self.closed |= holder.whole_node;
    }

    /// Takes these GPUs, by position: a part of each, or (zero) all of it.
    pub fn take_gpus(&mut self, gpus: u128, part: GpuMilli) {
        if part == GpuMilli::ZERO || part >= GpuMilli::WHOLE {
            self.gpus &= !gpus;
            return self.shared.retain(|(at, _)| gpus >> at & 1 == 0);
        }
        let each = u16::try_from(part.0).unwrap_or(WHOLE);
        bits(gpus).for_each(|at| self.set_milli(at, self.milli_of(at).saturating_sub(each)));
    }

    /// A job gives its share back. What the node no longer has is not counted.
    pub fn give_back(&mut self, class: &Class, holder: &Holder) {
        self.cpus = self.cpus.union(&holder.share().cpus).intersection(&class.inventory.cpus);
        self.core_cpus = core_cpus(class, &self.cpus);
        self.memory = class.inventory.memory.min(self.memory + holder.memory);
        let each = if holder.part == GpuMilli::ZERO {
            WHOLE
        } else {
            u16::try_from(holder.part.0).unwrap_or(WHOLE)
        };
        for at in bits(holder.gpus) {
            self.set_milli(at, self.milli_of(at).saturating_add(each).min(WHOLE));
        }
        self.holders = self.holders.saturating_sub(1);
        // A job that holds the whole node is the only one on it.
        self.closed = false;
    }

    fn set_milli(&mut self, at: usize, milli: u16) {
        self.gpus &= !(1 << at);
        self.shared.retain(|(other, _)| usize::from(*other) != at);
        if milli == WHOLE {
            self.gpus |= 1 << at;
        } else if let (1.., Ok(at)) = (milli, u8::try_from(at)) {
            let place = self.shared.partition_point(|(other, _)| *other < at);
            self.shared.insert(place, (at, milli));
        }
    }
}

fn first(mut all: Vec<usize>, count: Gpus) -> Vec<usize> {
    all.truncate(count.0 as usize);
    all
}

/// How many of these CPUs are on cores that are wholly in the set.
fn core_cpus(class: &Class, cpus: &CpuSet) -> Cpus {
    if class.single_threads {
        return Cpus(cpus.len());
    }
    let is_free = |core: &&CpuSet| core.is_subset(cpus);
    class.inventory.cores.iter().filter(is_free).map(|core| Cpus(core.len())).sum()
}
