//! Small random clusters: nodes of several sizes and kinds, and their topology.

use super::draw::Draw;
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::{FeatureName, GpuIndex, NodeName, SwitchName, ZoneName};
use common::node::{Inventory, Numa};
use common::topology::{Position, Topology};
use common::unit::Bytes;
use engine::NodeSnapshot;
use std::sync::Arc;

pub fn name(number: u32) -> NodeName {
    NodeName::new(format!("n{number}")).unwrap()
}

pub fn node(draw: &mut Draw, number: u32) -> NodeSnapshot {
    let cores = draw.one(&[2, 4, 4, 8]);
    let threads = draw.one(&[1, 1, 2]);
    let gpus: u16 = draw.one(&[0, 0, 2, 4, 4]);
    let kind = draw.one(&["h100", "h100", "a100"]);
    let mixed = draw.once_in(6);
    let cores: Vec<CpuSet> =
        (0..cores).map(|core| (0..threads).map(|t| core + t * cores).collect()).collect();
    let half = cores.len() / 2;
    let join = |cores: &[CpuSet]| cores.iter().fold(CpuSet::new(), |all, core| all.union(core));
    let numa =
        if draw.once_in(2) { vec![&cores[..]] } else { vec![&cores[..half], &cores[half..]] };
    let sides = u16::try_from(numa.len()).unwrap();
    let numa: Vec<Numa> = (0..)
        .zip(numa)
        .map(|(id, cores)| Numa { id, cpus: join(cores), memory: Bytes(8 << 30) })
        .collect();
    let lost = draw.maybe(8, |draw| u16::try_from(draw.below(4)).unwrap());
    let present: Vec<u16> = (0..gpus).filter(|index| Some(*index) != lost).collect();
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{number}-{index}"),
        model: String::new(),
        kind: GpuKind(if mixed && index >= 2 { "v100" } else { kind }.to_owned()),
        memory: Bytes(if kind == "h100" { 80 } else { 40 } << 30),
        minor: index.into(),
        pci_bus_id: String::new(),
        numa: Some(index % sides),
        cpus: CpuSet::new(),
        mig: None,
    };
    let path = |a: u16, b: u16| match (a == b, a / 2 == b / 2) {
        (true, _) => GpuPath::Own,
        (_, true) => GpuPath::NvLink(4),
        _ => GpuPath::Sys,
    };
    let paths = (0..gpus).map(|a| (0..gpus).map(|b| path(a, b)).collect()).collect();
    let inventory = Inventory {
        sockets: 1,
        threads_per_core: threads,
        cpus: join(&cores),
        cores,
        numa,
        memory: Bytes(16 << 30),
        gpus: present.into_iter().map(gpu).collect(),
        gpu_matrix: GpuMatrix { paths },
        boot_id: String::new(),
        gpu_driver: None,
        nics: Vec::new(),
        features: [("fast", 3), ("ib", 2)]
            .into_iter()
            .filter(|(_, of)| number.is_multiple_of(*of))
            .map(|(feature, _)| FeatureName::new(feature).unwrap())
            .collect(),
        limits_missing: Vec::new(),
    };
    let names: &[&str] = [&[] as &[&str], &["x"], &["y"], &["x", "y"]][number as usize % 4];
    let data = names.iter().map(|name| name.parse().unwrap()).collect();
    NodeSnapshot { data, ..NodeSnapshot::usable(name(number), Arc::new(inventory)) }
}

/// The kind of MIG devices in a cut cluster.
pub const MIG: &str = "h100-1g.10gb";

/// The same node with some of its GPUs cut (MIG). Its number decides: all, all but one, or all but
/// two; of every fourth node none.
pub fn cut(node: NodeSnapshot) -> NodeSnapshot {
    let number: u16 = node.name.as_str()[1..].parse().unwrap();
    if number % 4 == 3 {
        return node;
    }
    let mut inventory = Inventory::clone(&node.inventory);
    for gpu in inventory.gpus.iter_mut().filter(|gpu| gpu.index.0 >= number % 4) {
        (gpu.kind, gpu.memory) = (GpuKind(MIG.to_owned()), Bytes(10 << 30));
    }
    NodeSnapshot { inventory: Arc::new(inventory), ..node }
}

/// Nodes, some of them with a twin.
pub fn nodes(draw: &mut Draw) -> Vec<NodeSnapshot> {
    let count = draw.within(1, 6);
    let mut nodes: Vec<NodeSnapshot> = Vec::new();
    for number in 0..count {
        let twin = nodes.last().filter(|_| !draw.once_in(3)).cloned();
        let node = match twin {
            Some(twin) => NodeSnapshot { name: name(number), ..twin },
            None => node(draw, number),
        };
        nodes.push(node);
    }
    nodes
}

/// The topology: known for most nodes, in half of all clusters.
pub fn topology(draw: &mut Draw, nodes: u32) -> Topology {
    let mut topology = Topology::default();
    if draw.once_in(2) {
        return topology;
    }
    let wide = draw.within(1, 3);
    let switch =
        |text: &str, number: u32| Some(SwitchName::new(format!("{text}{number}")).unwrap());
    let has_zone = draw.once_in(3);
    for number in (0..nodes).filter(|_| !draw.once_in(8)) {
        let leaf = number / wide;
        let zone = (has_zone && number % 3 == 0).then(|| ZoneName::new("serve").unwrap());
        let position = Position {
            nvlink_domain: switch("d", leaf).filter(|_| wide > 1),
            leaf: switch("l", leaf),
            spine: switch("s", leaf / 2),
            superspine: switch("c", 0),
            zone,
        };
        topology.0.insert(name(number), position);
    }
    topology
}

/// A rare kind.
pub const THIRD: &str = "t4";

/// The same node. On every third, some GPUs are of a rare kind: by its number the last, or the last
/// two.
pub fn third(node: NodeSnapshot) -> NodeSnapshot {
    let number: usize = node.name.as_str()[1..].parse().unwrap();
    if !number.is_multiple_of(3) {
        return node;
    }
    let mut inventory = Inventory::clone(&node.inventory);
    let from = inventory.gpus.len().saturating_sub(1 + number % 2);
    inventory.gpus[from..].iter_mut().for_each(|gpu| gpu.kind = GpuKind(THIRD.to_owned()));
    NodeSnapshot { inventory: Arc::new(inventory), ..node }
}
