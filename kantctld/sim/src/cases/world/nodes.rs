//! The nodes of a case with their inventory, and their positions in the network.
//!
//! The levels of a case's topology, from the narrowest, are a leaf, a spine and a superspine.

use super::super::compare::tasks;
use super::super::error::{ImportError, unknown, unsupported};
use super::super::format::{Case, NodeText, QueueText};
use crate::hardware::Hardware;
use common::gpu::mig::MigDevice;
use common::gpu::{Gpu, GpuKind};
use common::id::{GpuIndex, NodeName, SwitchName};
use common::node::Inventory;
use common::topology::{Level, Position, Topology};
use common::unit::{Bytes, Cpus};
use engine::NodeSnapshot;
use std::sync::Arc;

/// The levels of a topology, from the narrowest.
const LEVELS: [Level; 3] = [Level::Leaf, Level::Spine, Level::Superspine];

/// A node's CPUs are listed one by one. Nodes of a case have up to 20,000, which is far more than
/// its jobs ask for; those beyond this number, or beyond twice what they ask for, are left out.
const CPUS_ENOUGH: u32 = 1024;

/// What a CPU of kant stands for: the largest part of a CPU, in thousandths, of which all tasks and
/// queues of a case ask for a whole number.
pub(super) fn cpu_unit(case: &Case) -> i64 {
    let bounds = |queue: &QueueText| [queue.cpu_milli.quota, queue.cpu_milli.limit];
    let queues = case.queues.iter().flat_map(bounds).flatten().map(|milli| milli as i64);
    let all = tasks(case).map(|(_, task)| task.cpu_milli).chain(queues);
    let gcd = |mut a: i64, mut b: i64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    all.fold(0, gcd).max(1)
}

pub(super) fn node_name(text: &str) -> Result<NodeName, ImportError> {
    NodeName::new(text).map_err(|_| unknown("name of a node", text))
}

/// The kind of the MIG devices of a profile (`nvidia.com/mig-1g.10gb`).
pub(super) fn mig_kind(profile: &str) -> GpuKind {
    let name = profile.rsplit_once("mig-").map_or(profile, |(_, name)| name);
    GpuKind("gpu".to_owned()).with_mig_profile(name)
}

/// All GPUs and MIG devices of a case.
pub(super) fn gpus(case: &Case) -> u32 {
    let of = |node: &NodeText| {
        let slices: i64 = node.mig_instances.values().sum();
        let is_cut = node.mig_strategy.as_deref() == Some("mixed");
        if is_cut { u32::try_from(slices).unwrap_or(0) } else { node.gpus }
    };
    case.nodes.iter().map(of).sum()
}

pub(super) fn nodes(case: &Case) -> Result<Vec<NodeSnapshot>, ImportError> {
    let unit = cpu_unit(case);
    let asked: i64 = tasks(case).map(|(_, task)| task.cpu_milli / unit).sum();
    let enough = u32::try_from(asked.saturating_mul(2)).unwrap_or(u32::MAX).max(CPUS_ENOUGH);
    let all = tasks(case).count() as i64;
    let node = |text: &NodeText| {
        if text.numa.is_some() {
            return unsupported("NUMA zones in fair rounds");
        }
        if text.max_tasks.is_some_and(|most| most < all) {
            return unsupported("limit on the tasks of a node");
        }
        let inventory = inventory(text, unit, enough)?;
        Ok(NodeSnapshot::usable(node_name(&text.name)?, Arc::new(inventory)))
    };
    case.nodes.iter().map(node).collect()
}

fn inventory(text: &NodeText, unit: i64, cpus_max: u32) -> Result<Inventory, ImportError> {
    let cut = text.mig_strategy.as_deref();
    if !matches!(cut, None | Some("none" | "mixed")) {
        return unsupported("nodes where all GPUs are cut equal");
    }
    let cpus = u32::try_from(text.cpu_milli / unit).unwrap_or(u32::MAX);
    let is_known = text.gpu_memory_known.unwrap_or(true);
    let gpu_memory = if is_known { text.gpu_memory_mib.unwrap_or(100) } else { 0 };
    let hardware = Hardware {
        cpus: Cpus(cpus.min(cpus_max)),
        threads_per_core: 1,
        memory: Bytes(u64::try_from(text.memory_bytes).unwrap_or(0)),
        // A GPU that is cut into MIG devices is not allocated as a whole.
        gpus: if cut == Some("mixed") { 0 } else { u16::try_from(text.gpus).unwrap_or(u16::MAX) },
        gpu_kind: GpuKind("gpu".to_owned()),
        gpu_memory: Bytes::from_mib(gpu_memory),
    };
    let mut inventory = hardware.inventory();
    for (profile, count) in &text.mig_instances {
        for _ in 0..*count {
            inventory.gpus.push(mig_device(inventory.gpus.len(), profile));
        }
    }
    Ok(inventory)
}

fn mig_device(index: usize, profile: &str) -> Gpu {
    let index = u16::try_from(index).unwrap_or(u16::MAX);
    let device = |minor| common::gpu::mig::DeviceNumber { major: 1, minor };
    let minor = u32::from(index) * 2;
    Gpu {
        index: GpuIndex(index),
        uuid: format!("MIG-{index}"),
        model: profile.to_owned(),
        kind: mig_kind(profile),
        memory: Bytes::from_mib(10),
        minor: index.into(),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(0),
        cpus: common::cpuset::CpuSet::new(),
        mig: Some(MigDevice {
            of: "GPU-0".to_owned(),
            capabilities: [device(minor), device(minor + 1)],
        }),
    }
}

/// The level of kant that stands for a level of a topology.
pub(super) fn level(case: &Case, topology: &str, level: &str) -> Result<Level, ImportError> {
    let found = case.topologies.iter().find(|one| one.name == topology);
    let levels = &found.ok_or_else(|| unknown("topology", topology))?.levels;
    let at = levels.iter().rev().position(|one| one == level);
    let at = at.ok_or_else(|| unknown("level", level))?;
    LEVELS.get(at).copied().map_or_else(|| unsupported("topologies of more than 3 levels"), Ok)
}

pub(super) fn topology(case: &Case) -> Result<Topology, ImportError> {
    let mut all = Topology::default();
    if case.topologies.len() > 1 {
        return unsupported("several topologies");
    }
    for text in &case.nodes {
        let mut position = Position::default();
        for topology in &case.topologies {
            // A domain is known by its own label and those of all wider levels.
            let mut path: Option<String> = Some(String::new());
            for one in &topology.levels {
                let label = text.labels.get(one);
                path = path.zip(label).map(|(path, label)| match path.as_str() {
                    "" => label.clone(),
                    path => format!("{path}.{label}"),
                });
                let Some(name) = &path else { continue };
                let switch = SwitchName::new(name.as_str());
                let switch = switch.map_err(|_| unknown("name of a switch", name))?;
                match level(case, &topology.name, one)? {
                    Level::NvlinkDomain => position.nvlink_domain = Some(switch),
                    Level::Leaf => position.leaf = Some(switch),
                    Level::Spine => position.spine = Some(switch),
                    Level::Superspine => position.superspine = Some(switch),
                }
            }
        }
        all.0.insert(node_name(&text.name)?, position);
    }
    Ok(all)
}
