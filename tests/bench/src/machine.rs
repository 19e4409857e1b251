//! The machine of synthetic clusters: 8 GPUs, 96 CPUs, two sockets.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::{GpuIndex, NodeName, SwitchName};
use common::node::{Inventory, Numa};
use common::topology::{Position, Topology};
use common::unit::Bytes;

pub const GPUS: u16 = 8;
const CPUS: u32 = 96;
const LEAF: u32 = 32;
const SPINE: u32 = 16 * LEAF;

pub fn name(number: u32) -> NodeName {
    NodeName::new(format!("n{number:06}")).expect("a letter and digits make a name")
}

/// The topology of `nodes` nodes: leaf groups under spines.
pub fn topology(nodes: u32) -> Topology {
    let switch = |text: String| SwitchName::new(text).ok();
    let place = |number: u32| {
        let position = Position {
            leaf: switch(format!("leaf{:05}", number / LEAF)),
            spine: switch(format!("spine{:04}", number / SPINE)),
            ..Position::default()
        };
        (name(number), position)
    };
    Topology((0..nodes).map(place).collect())
}

pub fn inventory() -> Inventory {
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes(80 << 30),
        minor: index.into(),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(index / 4),
        cpus: CpuSet::new(),
        mig: None,
    };
    let path = |a: u16, b: u16| if a == b { GpuPath::Own } else { GpuPath::NvLink(18) };
    let half = |from: u32| (from..from + CPUS / 2).collect::<CpuSet>();
    let numa =
        |id: u16| Numa { id, cpus: half(u32::from(id) * CPUS / 2), memory: Bytes(512 << 30) };
    Inventory {
        sockets: 2,
        threads_per_core: 1,
        cpus: CpuSet::first_n(CPUS),
        cores: (0..CPUS).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![numa(0), numa(1)],
        memory: Bytes(1 << 40),
        gpus: (0..GPUS).map(gpu).collect(),
        gpu_matrix: GpuMatrix {
            paths: (0..GPUS).map(|a| (0..GPUS).map(|b| path(a, b)).collect()).collect(),
        },
        boot_id: String::new(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: Vec::new(),
    }
}
