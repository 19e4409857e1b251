//! What is free on one node, down to single CPUs and GPUs.

use crate::model::cluster::class::Class;
use crate::model::cluster::tally::Takes;
use common::cpuset::CpuSet;
use common::id::GpuIndex;
use common::resource::{Request, Resources, Share};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};

/// What is free on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Free {
    pub cpus: CpuSet,
    /// The number of CPUs on wholly free cores, which can be given. Derived from `cpus`.
    pub core_cpus: Cpus,
    pub memory: Bytes,
    /// Free thousandths of each GPU, by position in the class.
    pub milli: Vec<u16>,
    /// The positions of wholly free GPUs. Derived from `milli`.
    pub gpus: u128,
    /// The sum of `milli`.
    pub milli_sum: u32,
    /// The number of jobs that hold something here.
    pub holders: u32,
    /// Whether a job holds the whole node.
    pub closed: bool,
}

impl Free {
    /// All of an idle node.
    pub fn whole(class: &Class) -> Self {
        let count = class.gpu_count().0;
        Self {
            cpus: class.inventory.cpus.clone(),
            core_cpus: class.core_cpus,
            memory: class.inventory.memory,
            milli: vec![1000; count as usize],
            gpus: if count >= 128 { u128::MAX } else { (1 << count) - 1 },
            milli_sum: count * 1000,
            holders: 0,
            closed: false,
        }
    }

    pub const fn is_idle(&self) -> bool {
        self.holders == 0
    }

    /// Wholly free GPUs that are not MIG devices.
    pub const fn whole_count(&self, class: &Class) -> Gpus {
        Gpus((self.gpus & class.of_no_kind()).count_ones())
    }

    /// The wholly free GPUs that a request accepts.
    pub fn gpus_for(&self, class: &Class, request: &Request) -> u128 {
        self.gpus & class.accepted(request)
    }

    /// The GPUs at these positions, ascending.
    pub fn indices(class: &Class, mask: u128) -> Vec<GpuIndex> {
        (0..128).filter(|at| mask >> at & 1 == 1).filter_map(|at| class.gpu(at)).collect()
    }

    /// The tightest GPUs with room for a share each, by position. Fewer than asked for if there are
    /// not enough.
    pub fn tightest(&self, class: &Class, request: &Request, takes: Takes) -> Vec<usize> {
        let mut all: Vec<usize> = self.with_room(class, request, takes.milli).collect();
        all.sort_by_key(|at| self.milli[*at]);
        first(all, takes.shared)
    }

    /// The first GPUs with room for a share each.
    pub fn first_with(&self, class: &Class, request: &Request, takes: Takes) -> Vec<usize> {
        first(self.with_room(class, request, takes.milli).collect(), takes.shared)
    }

    /// The emptiest GPUs with room for a share each.
    pub fn emptiest(&self, class: &Class, request: &Request, takes: Takes) -> Vec<usize> {
        let mut all: Vec<usize> = self.with_room(class, request, takes.milli).collect();
        all.sort_by_key(|at| std::cmp::Reverse(self.milli[*at]));
        first(all, takes.shared)
    }

    /// The GPUs with room for a share, by position, ascending.
    pub fn with_room<'a>(
        &'a self,
        class: &Class,
        request: &Request,
        share: GpuMilli,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let accepted = class.accepted(request);
        (0..self.milli.len())
            .filter(move |at| accepted >> at & 1 == 1 && u32::from(self.milli[*at]) >= share.0)
    }

    /// The CPUs on wholly free cores, the memory, and the wholly free GPUs.
    pub const fn resources(&self) -> Resources {
        let (cpus, memory) = (self.core_cpus, self.memory);
        Resources { cpus, memory, gpus: Gpus(self.gpus.count_ones()) }
    }

    /// Whether the node holds this much.
    pub fn holds(&self, class: &Class, request: &Request, takes: Takes) -> bool {
        if self.closed || (takes.whole_node && !self.is_idle()) {
            return false;
        }
        let Resources { cpus, memory, gpus } = takes.resources;
        cpus <= self.core_cpus
            && memory <= self.memory
            && (gpus == Gpus::ZERO || self.gpus_for(class, request).count_ones() >= gpus.0)
            && (takes.milli == GpuMilli::ZERO
                || self.with_room(class, request, takes.milli).count() >= takes.shared.0 as usize)
    }

    /// Takes a share of the node.
    pub fn take(&mut self, class: &Class, share: &Share, whole_node: bool) {
        self.cpus.remove_all(&share.cpus);
        self.core_cpus = core_cpus(class, &self.cpus);
        self.memory -= share.memory;
        self.change_gpus(class, share, |free, each| free.saturating_sub(each));
        self.holders += 1;
        self.closed |= whole_node;
    }

    /// Takes these GPUs, by position: a part of each, or (zero) all of it.
    pub fn keep_gpus(&mut self, gpus: u128, part: GpuMilli) {
        let each = if part == GpuMilli::ZERO { 1000 } else { part.0.try_into().unwrap_or(1000) };
        for at in (0..self.milli.len()).filter(|at| gpus >> at & 1 == 1) {
            let after = self.milli[at].saturating_sub(each);
            self.milli_sum -= u32::from(self.milli[at] - after);
            self.milli[at] = after;
            self.gpus &= !(1 << at);
        }
    }

    /// Gives a share back. What the node no longer has is not counted.
    pub fn give_back(&mut self, class: &Class, share: &Share) {
        self.cpus = self.cpus.union(&share.cpus).intersection(&class.inventory.cpus);
        self.core_cpus = core_cpus(class, &self.cpus);
        self.memory = class.inventory.memory.min(self.memory + share.memory);
        self.change_gpus(class, share, |free, each| free.saturating_add(each).min(1000));
        self.holders = self.holders.saturating_sub(1);
        // A job that holds the whole node is the only one on it.
        self.closed = false;
    }

    fn change_gpus(&mut self, class: &Class, share: &Share, change: impl Fn(u16, u16) -> u16) {
        let each = share.gpu_milli.unwrap_or(GpuMilli::WHOLE).0;
        let each = u16::try_from(each).unwrap_or(1000);
        for at in share.gpus.iter().filter_map(|index| class.position(*index)) {
            let before = self.milli[at];
            let after = change(before, each);
            self.milli[at] = after;
            self.milli_sum = self.milli_sum + u32::from(after) - u32::from(before);
            if after == 1000 {
                self.gpus |= 1 << at;
            } else {
                self.gpus &= !(1 << at);
            }
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
