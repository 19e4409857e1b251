//! What nodes with the same equipment have in common, worked out once for all of them. Never says
//! what is free.

use common::gpu::GpuKind;
use common::id::GpuIndex;
use common::node::Inventory;
use common::resource::Request;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};
use std::sync::Arc;

/// One kind of node.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub inventory: Arc<Inventory>,
    /// Its GPUs, rising: position in this list is position in every mask.
    gpus: Vec<GpuIndex>,
    /// Which positions each kind has.
    kinds: Vec<(GpuKind, u128)>,
    /// The positions of GPUs that are whole; all bits where none is a MIG device, no bit where
    /// each is.
    whole: u128,
    /// CPUs on whole cores.
    pub core_cpus: Cpus,
    /// Every core is one thread: any free CPU can be given.
    pub single_threads: bool,
    /// One NUMA node, or none known: any CPU is as good as any other.
    pub cpus_are_alike: bool,
    /// Every two GPUs are linked alike, and stand on one NUMA node.
    pub gpus_are_alike: bool,
}

/// What tells classes apart for placement.
pub(crate) type ClassKey = (Cpus, Bytes, Vec<(GpuKind, u128)>, Vec<Bytes>);

impl Class {
    pub fn of(inventory: &Arc<Inventory>) -> Self {
        let mut gpus: Vec<GpuIndex> = inventory.gpus.iter().map(|gpu| gpu.index).collect();
        gpus.sort_unstable();
        gpus.truncate(128);
        let mut kinds: Vec<(GpuKind, u128)> = Vec::new();
        for gpu in &inventory.gpus {
            let Ok(at) = gpus.binary_search(&gpu.index) else { continue };
            match kinds.iter_mut().find(|(kind, _)| *kind == gpu.kind) {
                Some((_, mask)) => *mask |= 1 << at,
                None => kinds.push((gpu.kind.clone(), 1 << at)),
            }
        }
        kinds.sort();
        let masks = |mig: bool| kinds.iter().filter(move |(kind, _)| kind.is_mig() == mig);
        let all = |mig: bool| masks(mig).fold(0, |all, (_, mask)| all | mask);
        let whole = if all(true) == 0 { u128::MAX } else { all(false) };
        let core_cpus = inventory.cores.iter().map(common::cpuset::CpuSet::len).sum();
        let single_threads = inventory.cores.iter().all(|core| core.len() == 1);
        Self {
            gpus_are_alike: gpus_are_alike(inventory, &gpus),
            cpus_are_alike: single_threads && inventory.numa.len() <= 1,
            inventory: inventory.clone(),
            gpus,
            kinds,
            whole,
            core_cpus: Cpus(core_cpus),
            single_threads,
        }
    }

    pub fn key(&self) -> ClassKey {
        let of_gpus = self.inventory.gpus.iter().map(|gpu| gpu.memory);
        (self.core_cpus, self.inventory.memory, self.kinds.clone(), of_gpus.collect())
    }

    /// Have the GPUs of both the same numbers? Positions mean the same then.
    pub fn is_numbered_as(&self, other: &Self) -> bool {
        self.gpus == other.gpus
    }

    /// Where a GPU is in the masks.
    pub fn position(&self, index: GpuIndex) -> Option<usize> {
        self.gpus.binary_search(&index).ok()
    }

    /// The GPU at a position.
    pub fn gpu(&self, at: usize) -> Option<GpuIndex> {
        self.gpus.get(at).copied()
    }

    /// How many GPUs it has.
    pub fn gpu_count(&self) -> Gpus {
        Gpus(u32::try_from(self.gpus.len()).unwrap_or(u32::MAX))
    }

    /// The kinds it has, with their positions.
    pub fn kinds(&self) -> &[(GpuKind, u128)] {
        &self.kinds
    }

    /// Is any of its GPUs a MIG device?
    pub const fn has_mig(&self) -> bool {
        self.whole != u128::MAX
    }

    /// The positions of GPUs that somebody who names no kind may get.
    pub const fn of_no_kind(&self) -> u128 {
        self.whole
    }

    /// The positions of GPUs of these kinds.
    pub fn positions(&self, kinds: &[GpuKind]) -> u128 {
        let of = self.kinds.iter().filter(|(kind, _)| kinds.contains(kind));
        of.fold(0, |all, (_, mask)| all | mask)
    }

    /// The positions of the GPUs a request accepts.
    pub fn accepted(&self, request: &Request) -> u128 {
        if request.gpu_kind.is_none() {
            return self.whole;
        }
        self.kinds.iter().filter(|(kind, _)| request.accepts(kind)).fold(0, |all, (_, m)| all | m)
    }

    /// How much of each GPU a request for parts gets here; more than whole where it accepts none.
    pub fn part(&self, request: &Request) -> GpuMilli {
        request.gpu_part_on(&self.inventory.gpus).unwrap_or(GpuMilli(u32::MAX))
    }

    /// The memory of the smallest GPU that a request accepts.
    pub fn smallest_accepted(&self, request: &Request) -> Option<Bytes> {
        let accepted = self.inventory.gpus.iter().filter(|gpu| request.accepts(&gpu.kind));
        accepted.map(|gpu| gpu.memory).min()
    }

    /// The kind of the GPU at a position.
    pub fn kind_at(&self, at: usize) -> Option<&GpuKind> {
        self.kinds.iter().find(|(_, mask)| mask >> at & 1 == 1).map(|(kind, _)| kind)
    }
}

fn gpus_are_alike(inventory: &Inventory, gpus: &[GpuIndex]) -> bool {
    let mut numa = inventory.gpus.iter().map(|gpu| gpu.numa);
    let first = numa.next();
    let mut paths = gpus
        .iter()
        .enumerate()
        .flat_map(|(at, a)| gpus[at + 1..].iter().map(|b| inventory.gpu_matrix.path(*a, *b)));
    let path = paths.next();
    numa.all(|other| Some(other) == first) && paths.all(|other| Some(other) == path)
}
