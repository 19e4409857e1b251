//! Sample nodes: GPUs, inventories, and shares of them.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::id::{GpuIndex, NodeName};
use common::node::{Inventory, Numa};
use common::resource::Share;
use common::unit::{Bytes, Tasks};
use common::wire::node::{Hello, NODE_PROTOCOL, StepStatus};

/// # Panics
/// If this is no name of a node.
#[must_use]
pub fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

/// An H100, whose minor is its index.
#[must_use]
pub fn gpu(index: u16) -> Gpu {
    Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes::from_mib(81_920),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(0),
        cpus: CpuSet::new(),
        mig: None,
    }
}

/// One NUMA node with this number of CPUs (each a core), GiB of memory, and GPUs.
#[must_use]
pub fn inventory(cpus: u32, gib: u64, gpus: u16) -> Inventory {
    let memory = Bytes::from_mib(gib << 10);
    Inventory {
        sockets: 1,
        threads_per_core: 1,
        cpus: CpuSet::first_n(cpus),
        cores: (0..cpus).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![Numa { id: 0, cpus: CpuSet::first_n(cpus), memory }],
        memory,
        gpus: (0..gpus).map(gpu).collect(),
        gpu_matrix: GpuMatrix::default(),
        boot_id: "boot-1".to_owned(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: Vec::new(),
    }
}

/// One task with `cpus` CPUs from `first` on, 1 GiB of memory, and these GPUs.
#[must_use]
pub fn share(node: &str, first: u32, cpus: u32, gpus: &[u16]) -> Share {
    Share {
        node: name(node),
        tasks: Tasks(1),
        cpus: (first..first + cpus).collect(),
        memory: Bytes::from_mib(1024),
        gpus: gpus.iter().map(|index| GpuIndex(*index)).collect(),
        gpu_milli: None,
    }
}

/// The Hello of a node of 64 CPUs and 64 GiB that holds these steps.
#[must_use]
pub fn hello(node: &str, steps: Vec<StepStatus>) -> Hello {
    Hello {
        protocol: NODE_PROTOCOL,
        oldest_protocol: None,
        version: "1".to_owned(),
        name: name(node),
        address: format!("{node}.example"),
        identity: format!("identity of {node}"),
        inventory: inventory(64, 64, 0),
        steps,
        starts_tasks: false,
        routes: false,
        key_generation: 0,
    }
}
