//! The hardware of simulated nodes: one NUMA node, and GPUs that are all linked.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::GpuIndex;
use common::node::{Inventory, Numa};
use common::unit::{Bytes, Cpus};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hardware {
    pub cpus: Cpus,
    /// CPUs of one core. Neighbours share it.
    pub threads_per_core: u32,
    pub memory: Bytes,
    pub gpus: u16,
    pub gpu_kind: GpuKind,
    /// Memory of each GPU.
    pub gpu_memory: Bytes,
}

impl Hardware {
    pub fn inventory(&self) -> Inventory {
        let (cpus, threads) = (CpuSet::first_n(self.cpus.0), self.threads_per_core);
        let core = |first: u32| (first..(first + threads).min(self.cpus.0)).collect();
        let path = |a, b| if a == b { GpuPath::Own } else { GpuPath::NvLink(18) };
        let row = |a| (0..self.gpus).map(|b| path(a, b)).collect();
        Inventory {
            sockets: 1,
            threads_per_core: threads,
            cores: (0..self.cpus.0).step_by(threads as usize).map(core).collect(),
            numa: vec![Numa { id: 0, cpus: cpus.clone(), memory: self.memory }],
            cpus,
            memory: self.memory,
            gpus: (0..self.gpus).map(|index| self.gpu(index)).collect(),
            gpu_matrix: GpuMatrix { paths: (0..self.gpus).map(row).collect() },
            boot_id: "boot-1".to_owned(),
            gpu_driver: None,
            nics: Vec::new(),
            features: Vec::new(),
            limits_missing: Vec::new(),
        }
    }

    fn gpu(&self, index: u16) -> Gpu {
        Gpu {
            index: GpuIndex(index),
            uuid: format!("GPU-{index}"),
            model: self.gpu_kind.0.clone(),
            kind: self.gpu_kind.clone(),
            memory: self.gpu_memory,
            minor: index.into(),
            pci_bus_id: format!("0000:{index:02x}:00.0"),
            numa: Some(0),
            cpus: CpuSet::new(),
            mig: None,
        }
    }
}
