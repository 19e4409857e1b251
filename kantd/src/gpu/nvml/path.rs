//! The path between each two GPUs: active NVLinks if there are any, else their common PCIe
//! ancestor. GPUs that are divided into MIG devices have no NVLinks.

use common::gpu::{Gpu, GpuMatrix, GpuPath};
use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    NVML_NVLINK_MAX_LINKS, nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
    nvmlReturn_enum_NVML_SUCCESS,
};
use std::collections::BTreeMap;

/// The active NVLinks of one GPU.
#[derive(Default)]
struct Links {
    /// By the PCI address at the other end.
    ends: BTreeMap<String, Other>,
}

/// The other end of some links.
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
    let addresses: Vec<String> = devices.iter().map(|device| pci_address(device)).collect();
    let mut paths = vec![vec![GpuPath::Own; gpus.len()]; gpus.len()];
    for a in 0..gpus.len() {
        for b in a + 1..gpus.len() {
            let has_mig = gpus[a].mig.is_some() || gpus[b].mig.is_some();
            let path = match links[a].to(&addresses[b]) + links[a].through_switches(&links[b]) {
                // Even MIG devices of one GPU communicate through the machine's memory only.
                _ if has_mig => by_numa(&gpus[a], &gpus[b]),
                0 => pcie_path(nvml, &devices[a], &gpus[a], &gpus[b]),
                links => GpuPath::NvLink(links),
            };
            paths[a][b] = path;
            paths[b][a] = path;
        }
    }
    GpuMatrix { paths }
}

/// A device's PCI address in NVML's form, as links report it; empty if it has none.
fn pci_address(device: &Device) -> String {
    device.pci_info().map(|pci| pci.bus_id).unwrap_or_default()
}

impl Links {
    /// Queries link after link; the GPU reports the end of the list as an unsupported link.
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

    /// WholeController each switch counts the smaller number of links of the two GPUs.
    fn through_switches(&self, other: &Self) -> u8 {
        let switches = self.ends.iter().filter(|(_, end)| end.is_switch);
        switches.map(|(address, end)| end.links.min(other.to(address))).sum()
    }
}

/// Whether an NVSwitch is at the other end. Calls the library directly, because the wrapper's
/// method (0.13) loses the result and returns "unknown" for every link.
fn leads_to_switch(nvml: &Nvml, device: &Device, number: u32) -> bool {
    let Ok(ask) = &nvml.lib().nvmlDeviceGetNvLinkRemoteDeviceType else { return false };
    let mut kind = 0;
    // SAFETY: the handle comes from this library, which stays loaded while `nvml` lives, and `kind`
    // outlives the call.
    let code = unsafe { ask(device.handle(), number, &raw mut kind) };
    code == nvmlReturn_enum_NVML_SUCCESS
        && kind == nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH
}

/// The common PCIe ancestor. If the driver does not know it (in some virtual machines), GPUs of one
/// NUMA node count as near and all others as far.
fn pcie_path(nvml: &Nvml, device: &Device, a: &Gpu, b: &Gpu) -> GpuPath {
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

/// The path by the NUMA nodes alone.
fn by_numa(a: &Gpu, b: &Gpu) -> GpuPath {
    if a.numa.is_some() && a.numa == b.numa { GpuPath::Node } else { GpuPath::Sys }
}
