//! The path between every two GPUs: NVLink where it is up, else what PCIe has above both. Never
//! counts a link that is down, nor one of a GPU that is cut into MIG devices: those have none.

use common::gpu::{Gpu, GpuMatrix, GpuPath};
use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    NVML_NVLINK_MAX_LINKS, nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
    nvmlReturn_enum_NVML_SUCCESS,
};
use std::collections::BTreeMap;

/// The NVLinks of one GPU that are up.
#[derive(Default)]
struct Links {
    /// How many, by the PCI address at their other end.
    ends: BTreeMap<String, Other>,
}

/// What is at the other end of some links.
#[derive(Default)]
struct Other {
    links: u8,
    is_switch: bool,
}

/// The paths between these devices; `gpus` describes them in the same order.
pub(super) fn matrix(nvml: &Nvml, devices: &[Device], gpus: &[Gpu]) -> GpuMatrix {
    let links_of = |(device, gpu): (&Device, &Gpu)| match &gpu.mig {
        None => Links::of(nvml, device),
        Some(_) => Links::default(),
    };
    let links: Vec<Links> = devices.iter().zip(gpus).map(links_of).collect();
    let addresses: Vec<String> = devices.iter().map(|device| address(device)).collect();
    let mut paths = vec![vec![GpuPath::Own; gpus.len()]; gpus.len()];
    for a in 0..gpus.len() {
        for b in a + 1..gpus.len() {
            let has_mig = gpus[a].mig.is_some() || gpus[b].mig.is_some();
            let path = match links[a].to(&addresses[b]) + links[a].through_switches(&links[b]) {
                // MIG devices of one GPU, too, reach each other through the machine's memory alone.
                _ if has_mig => by_numa(&gpus[a], &gpus[b]),
                0 => pcie(nvml, &devices[a], &gpus[a], &gpus[b]),
                links => GpuPath::NvLink(links),
            };
            paths[a][b] = path;
            paths[b][a] = path;
        }
    }
    GpuMatrix { paths }
}

/// A device's PCI address in NVML's own writing, as links tell it; empty if it has none.
fn address(device: &Device) -> String {
    device.pci_info().map(|pci| pci.bus_id).unwrap_or_default()
}

impl Links {
    /// Asks link by link; a GPU ends the list by saying that it has no such link.
    fn of(nvml: &Nvml, device: &Device) -> Self {
        let mut links = Self::default();
        for number in 0..NVML_NVLINK_MAX_LINKS {
            let link = device.link_wrapper_for(number);
            match link.is_active() {
                Err(NvmlError::NotSupported | NvmlError::InvalidArg) => break,
                Ok(false) | Err(_) => continue,
                Ok(true) => {}
            }
            if let Ok(remote) = link.remote_pci_info() {
                let other = links.ends.entry(remote.bus_id).or_default();
                other.links += 1;
                other.is_switch = leads_to_switch(nvml, device, number);
            }
        }
        links
    }

    fn to(&self, address: &str) -> u8 {
        self.ends.get(address).map_or(0, |end| end.links)
    }

    /// Through each switch go as many links as the GPU with fewer of them has.
    fn through_switches(&self, other: &Self) -> u8 {
        let switches = self.ends.iter().filter(|(_, end)| end.is_switch);
        switches.map(|(address, end)| end.links.min(other.to(address))).sum()
    }
}

/// Is an NVSwitch at the other end? Asked of the library itself: the wrapper's method for it
/// (0.13) loses the answer and says "unknown" of every link.
fn leads_to_switch(nvml: &Nvml, device: &Device, number: u32) -> bool {
    let Ok(ask) = &nvml.lib().nvmlDeviceGetNvLinkRemoteDeviceType else { return false };
    let mut kind = 0;
    // SAFETY: the handle comes from this library, which stays loaded while `nvml` lives, and `kind`
    // outlives the call.
    let code = unsafe { ask(device.handle(), number, &raw mut kind) };
    code == nvmlReturn_enum_NVML_SUCCESS
        && kind == nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH
}

/// What PCIe has above both. Where the driver does not know (some virtual machines), GPUs of one
/// NUMA node count as near and all others as far.
fn pcie(nvml: &Nvml, device: &Device, a: &Gpu, b: &Gpu) -> GpuPath {
    let other = nvml.device_by_uuid(b.uuid.as_str());
    match other.and_then(|other| device.topology_common_ancestor(other)) {
        Ok(TopologyLevel::Internal | TopologyLevel::Single) => GpuPath::Pix,
        Ok(TopologyLevel::Multiple) => GpuPath::Pxb,
        Ok(TopologyLevel::HostBridge) => GpuPath::Phb,
        Ok(TopologyLevel::Node) => GpuPath::Node,
        Ok(TopologyLevel::System) => GpuPath::Sys,
        Err(_) => by_numa(a, b),
    }
}

/// By what is known of their NUMA nodes alone.
fn by_numa(a: &Gpu, b: &Gpu) -> GpuPath {
    if a.numa.is_some() && a.numa == b.numa { GpuPath::Node } else { GpuPath::Sys }
}
