//! Properties that nodes with the same equipment share, computed once for all of them.

use common::gpu::GpuKind;
use common::gpu_parts::{GpuParts, PartSize};
use common::id::GpuIndex;
use common::node::Inventory;
use common::resource::Request;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};
use std::sync::Arc;

/// One class of nodes.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub inventory: Arc<Inventory>,
    /// Its GPUs, ascending. A GPU's index in this list is its position in every mask.
    gpus: Vec<GpuIndex>,
    /// The positions of each kind of GPU.
    kinds: Vec<(GpuKind, u128)>,
    /// The positions of whole GPUs. All bits are set if no GPU is a MIG device, none if all are.
    whole: u128,
    /// CPUs on whole cores.
    pub core_cpus: Cpus,
    /// Whether every core has one thread, so that any free CPU can be given.
    pub single_threads: bool,
    /// Whether any CPU is as good as any other: there is at most one known NUMA node.
    pub cpus_are_equal: bool,
    /// Whether all GPUs are equivalent: every two are linked in the same way, on one NUMA node.
    pub gpus_are_equal: bool,
}

/// What distinguishes classes for placement.
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
            gpus_are_equal: gpus_are_equal(inventory, &gpus),
            cpus_are_equal: single_threads && inventory.numa.len() <= 1,
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

    /// Whether the GPUs of both classes have the same numbers, so that positions mean the same.
    pub fn is_numbered_as(&self, other: &Self) -> bool {
        self.gpus == other.gpus
    }

    /// A GPU's position in the masks. On most nodes it is the GPU's number.
    pub fn position(&self, index: GpuIndex) -> Option<usize> {
        let number = usize::from(index.0);
        if self.gpus.get(number) == Some(&index) {
            return Some(number);
        }
        self.gpus.binary_search(&index).ok()
    }

    /// The positions of these GPUs.
    pub fn mask(&self, gpus: &[GpuIndex]) -> u128 {
        gpus.iter().filter_map(|index| self.position(*index)).fold(0, |mask, at| mask | 1 << at)
    }

    /// The GPU at a position.
    pub fn gpu(&self, at: usize) -> Option<GpuIndex> {
        self.gpus.get(at).copied()
    }

    pub fn gpu_count(&self) -> Gpus {
        Gpus(u32::try_from(self.gpus.len()).unwrap_or(u32::MAX))
    }

    /// The kinds of GPUs, with their positions.
    pub fn kinds(&self) -> &[(GpuKind, u128)] {
        &self.kinds
    }

    /// Whether any of its GPUs is a MIG device.
    pub const fn has_mig(&self) -> bool {
        self.whole != u128::MAX
    }

    /// The positions of the GPUs that a request without a kind may get.
    pub const fn positions_without_kind(&self) -> u128 {
        self.whole
    }

    /// The positions of GPUs of these kinds.
    pub fn positions(&self, kinds: &[GpuKind]) -> u128 {
        let of = self.kinds.iter().filter(|(kind, _)| kinds.contains(kind));
        of.fold(0, |all, (_, mask)| all | mask)
    }

    /// The positions of the GPUs that a request accepts.
    pub fn accepted_positions(&self, request: &Request) -> u128 {
        if request.gpu_kind.is_none() {
            return self.whole;
        }
        self.kinds.iter().filter(|(kind, _)| request.accepts(kind)).fold(0, |all, (_, m)| all | m)
    }

    /// The fraction of each GPU that a request for shares gets here. More than a whole GPU if the
    /// request accepts none.
    pub fn gpu_fraction(&self, request: &Request) -> GpuMilli {
        if let Some(GpuParts { each: PartSize::Milli(part), .. }) = request.gpu_parts()
            && self.accepted_positions(request)
                & self.kinds.iter().fold(0, |all, (_, mask)| all | mask)
                != 0
        {
            return part;
        }
        request.gpu_part_on(&self.inventory.gpus).unwrap_or(GpuMilli(u32::MAX))
    }

    /// The memory of the smallest GPU that a request accepts.
    pub fn smallest_accepted_memory(&self, request: &Request) -> Option<Bytes> {
        let accepted = self.inventory.gpus.iter().filter(|gpu| request.accepts(&gpu.kind));
        accepted.map(|gpu| gpu.memory).min()
    }

    /// The kind of the GPU at a position.
    pub fn kind_at(&self, at: usize) -> Option<&GpuKind> {
        self.kinds.iter().find(|(_, mask)| mask >> at & 1 == 1).map(|(kind, _)| kind)
    }
}

/// The positions in a mask, ascending.
pub(crate) fn bits(mask: u128) -> impl Iterator<Item = usize> {
    let without_lowest = |left: &u128| Some(left & left.wrapping_sub(1));
    let left = std::iter::successors(Some(mask), without_lowest).take_while(|left| *left != 0);
    left.map(|left| left.trailing_zeros() as usize)
}

fn gpus_are_equal(inventory: &Inventory, gpus: &[GpuIndex]) -> bool {
    let mut numa = inventory.gpus.iter().map(|gpu| gpu.numa);
    let first = numa.next();
    let mut paths = gpus
        .iter()
        .enumerate()
        .flat_map(|(at, a)| gpus[at + 1..].iter().map(|b| inventory.gpu_matrix.path(*a, *b)));
    let path = paths.next();
    numa.all(|other| Some(other) == first) && paths.all(|other| Some(other) == path)
}
