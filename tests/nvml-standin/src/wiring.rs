//! How GPUs are wired: NVLinks from the point-to-point and switch lists, PCIe ancestors from the
//! tree paths. Pure; never numbers a link that is not wired.

use crate::machine::{Machine, PciAddress};
use nvml_wrapper_sys::bindings::*;

/// The other end of an NVLink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remote {
    /// A GPU, by index.
    Gpu(usize),
    /// An NVSwitch, by number.
    Switch(usize),
}

/// One NVLink of a GPU; its number is its place in the GPU's list.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub remote: Remote,
    pub up: bool,
}

/// The NVLinks of every GPU: first the point-to-point ones in the file's order, then those to the
/// switches. A point-to-point link is down if either of its ends is listed as down.
pub fn links(machine: &Machine) -> Vec<Vec<Link>> {
    let down = |gpu: usize, number| machine.gpus[gpu].down_links.contains(&number);
    let mut links: Vec<Vec<Link>> = vec![Vec::new(); machine.gpus.len()];
    for &(a, b, count) in &machine.nvlink {
        for _ in 0..count {
            let up = !down(a, links[a].len()) && !down(b, links[b].len());
            links[a].push(Link { remote: Remote::Gpu(b), up });
            links[b].push(Link { remote: Remote::Gpu(a), up });
        }
    }
    for (gpu, own) in links.iter_mut().enumerate() {
        for (switch, &count) in machine.switch_links.iter().enumerate() {
            for _ in 0..count {
                let up = !down(gpu, own.len());
                own.push(Link { remote: Remote::Switch(switch), up });
            }
        }
    }
    links
}

/// Can the two reach each other over links that are up, directly or through a switch?
pub fn nvlinked(machine: &Machine, a: usize, b: usize) -> bool {
    let links = links(machine);
    links[a].iter().filter(|link| link.up).any(|link| match link.remote {
        Remote::Gpu(other) => other == b,
        Remote::Switch(_) => links[b].iter().any(|l| l.up && l.remote == link.remote),
    })
}

/// Where an NVSwitch sits: bus 5 of PCI domain 0 and the buses after it.
pub fn switch_address(switch: usize) -> PciAddress {
    let bus = u32::try_from(switch).unwrap_or(u32::MAX).saturating_add(5);
    PciAddress { domain: 0, bus, device: 0, function: 0 }
}

/// The nearest thing on the PCIe tree that is above both GPUs.
pub fn ancestor(machine: &Machine, a: usize, b: usize) -> nvmlGpuTopologyLevel_t {
    let (a, b) = (&machine.gpus[a], &machine.gpus[b]);
    if a.pci == b.pci {
        return nvmlGpuLevel_enum_NVML_TOPOLOGY_INTERNAL;
    }
    if a.numa != b.numa {
        return nvmlGpuLevel_enum_NVML_TOPOLOGY_SYSTEM;
    }
    let (Some(a), Some(b)) = (&a.pcie, &b.pcie) else {
        return nvmlGpuLevel_enum_NVML_TOPOLOGY_NODE;
    };
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
    let shared = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    match shared {
        0 => nvmlGpuLevel_enum_NVML_TOPOLOGY_NODE,
        1 => nvmlGpuLevel_enum_NVML_TOPOLOGY_HOSTBRIDGE,
        _ if shared == a.len() && shared == b.len() => nvmlGpuLevel_enum_NVML_TOPOLOGY_SINGLE,
        _ => nvmlGpuLevel_enum_NVML_TOPOLOGY_MULTIPLE,
    }
}
