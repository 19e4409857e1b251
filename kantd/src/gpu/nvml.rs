//! GPU discovery through NVML, NVIDIA's management library. Reads, and changes nothing on the
//! machine. A machine without the library is a CPU node, not an error; one broken GPU is skipped
//! with its reason and costs the node nothing else.

mod load;
mod path;

pub use load::open;

use super::{GpuError, GpuInventory, SkippedGpu};
use common::cpuset::{CPU_ID_MAX, CpuSet};
use common::gpu::{Gpu, GpuKind};
use common::id::GpuIndex;
use common::unit::Bytes;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::PciInfo;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::NVML_AFFINITY_SCOPE_NODE;
use std::ffi::c_ulong;
use std::fs;
use std::path::Path;

/// Where the kernel tells about PCI devices.
const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// Lists the machine's GPUs with the library at `library`, by default the system's
/// `libnvidia-ml.so.1`. `None` when there is no such library: a CPU node. Takes up to some seconds
/// where the driver does not stay initialised without a user, so never call it on an async thread.
///
/// # Errors
/// When the library is there and does not load, start or count.
pub fn discover(library: Option<&Path>) -> Result<Option<GpuInventory>, GpuError> {
    discover_with(library, Path::new(PCI_DEVICES))
}

/// As [`discover`], with the kernel's list of PCI devices at another place.
///
/// # Errors
/// As [`discover`].
pub fn discover_with(
    library: Option<&Path>,
    pci_devices: &Path,
) -> Result<Option<GpuInventory>, GpuError> {
    match open(library)? {
        None => Ok(None),
        Some(nvml) => inventory(&nvml, pci_devices).map(Some),
    }
}

fn inventory(nvml: &Nvml, pci_devices: &Path) -> Result<GpuInventory, GpuError> {
    let ask = |what| move |source| GpuError::Ask { what, source };
    let driver = nvml.sys_driver_version().map_err(ask("its version"))?;
    let count = nvml.device_count().map_err(ask("the number of GPUs"))?;
    let (mut gpus, mut devices, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for driver_index in 0..count {
        let index = GpuIndex(u16::try_from(gpus.len()).unwrap_or(u16::MAX));
        match look_at(nvml, driver_index, index, pci_devices) {
            Ok((gpu, device)) => {
                gpus.push(gpu);
                devices.push(device);
            }
            Err(Skip { uuid, reason }) => skipped.push(SkippedGpu { driver_index, uuid, reason }),
        }
    }
    let matrix = path::matrix(nvml, &devices, &gpus);
    Ok(GpuInventory { driver, gpus, matrix, skipped })
}

/// A GPU that is not offered.
struct Skip {
    uuid: Option<String>,
    reason: String,
}

/// The devices that a GPU in MIG mode is cut into, by their profiles: `3g.40gb, 1g.10gb`.
fn mig_parts(device: &Device) -> String {
    let places = 0..device.mig_device_count().unwrap_or(0);
    let parts = places.filter_map(|place| device.mig_device_by_index(place).ok());
    // A part is named as its GPU is, `MIG` and its profile.
    let profile = |part: Device| part.name().ok()?.rsplit(' ').next().map(str::to_owned);
    let profiles: Vec<String> = parts.filter_map(profile).collect();
    if profiles.is_empty() { "no devices".to_owned() } else { profiles.join(", ") }
}

/// One GPU, or why jobs cannot have it.
fn look_at<'nvml>(
    nvml: &'nvml Nvml,
    driver_index: u32,
    index: GpuIndex,
    pci_devices: &Path,
) -> Result<(Gpu, Device<'nvml>), Skip> {
    let sick = |error| Skip { uuid: None, reason: sick(&error) };
    let device = nvml.device_by_index(driver_index).map_err(sick)?;
    let gpu = describe(&device, index, pci_devices).map_err(sick)?;
    // A GPU without MIG answers that it does not support it.
    if device.mig_mode().is_ok_and(|mode| mode.current != 0) {
        let parts = mig_parts(&device);
        return Err(Skip {
            uuid: Some(gpu.uuid),
            reason: format!(
                "it is in MIG mode, cut into {parts}, which kant does not hand out; \
                 `nvidia-smi -i {driver_index} -mig 0` and a restart of kantd make it whole again"
            ),
        });
    }
    Ok((gpu, device))
}

fn sick(error: &NvmlError) -> String {
    let advice = match error {
        NvmlError::GpuLost => "reboot the node; if it comes back, the GPU is broken",
        NvmlError::ResetRequired => "reset it with `nvidia-smi -r` or reboot the node",
        NvmlError::NoPermission => "let kantd run as root",
        NvmlError::InsufficientPower => "look at its power cables",
        _ => "look at the kernel log for NVRM lines",
    };
    format!("the driver cannot tell what it is: {error}; {advice}")
}

fn describe(device: &Device, index: GpuIndex, pci_devices: &Path) -> Result<Gpu, NvmlError> {
    let model = device.name()?;
    let pci_bus_id = kernel_address(&device.pci_info()?);
    Ok(Gpu {
        index,
        uuid: device.uuid()?,
        kind: GpuKind::from_model(&model),
        model,
        memory: Bytes(device.memory_info()?.total),
        minor: device.minor_number()?,
        numa: numa_in(pci_devices, &pci_bus_id).or_else(|| numa_by_memory(device)),
        pci_bus_id,
        cpus: near_cpus(device),
        mig: None,
    })
}

/// A PCI address as the kernel writes it: `0000:1b:00.0`. NVML's has eight digits of domain.
fn kernel_address(pci: &PciInfo) -> String {
    let PciInfo { domain, bus, device, .. } = pci;
    format!("{domain:04x}:{bus:02x}:{device:02x}.0")
}

/// The kernel's word on where a PCI device hangs; it writes -1 where it does not know. (NVML's
/// "NUMA node id" is another thing: the node that a GPU's own memory makes, as on Grace Hopper.)
fn numa_in(pci_devices: &Path, address: &str) -> Option<u16> {
    let text = fs::read_to_string(pci_devices.join(address).join("numa_node")).ok()?;
    text.trim().parse().ok()
}

/// The NUMA node that NVML thinks near, if it is just one.
fn numa_by_memory(device: &Device) -> Option<u16> {
    let words = device.memory_affinity(WORDS_OF_CPUS, NVML_AFFINITY_SCOPE_NODE).ok()?;
    let nodes = numbers_in(&words);
    let mut nodes = nodes.iter();
    let first = nodes.next()?;
    if nodes.next().is_some() { None } else { u16::try_from(first).ok() }
}

/// The CPUs near a GPU; empty where NVML does not know.
fn near_cpus(device: &Device) -> CpuSet {
    device.cpu_affinity(WORDS_OF_CPUS).map(|words| numbers_in(&words)).unwrap_or_default()
}

/// Room in an affinity mask for every CPU that kant can name.
const WORDS_OF_CPUS: usize = (CPU_ID_MAX / c_ulong::BITS + 1) as usize;

/// The numbers in an affinity mask.
fn numbers_in(words: &[c_ulong]) -> CpuSet {
    let bits = (0..=CPU_ID_MAX).filter(|number| {
        let word = words.get((number / c_ulong::BITS) as usize);
        word.is_some_and(|word| word >> (number % c_ulong::BITS) & 1 == 1)
    });
    bits.collect()
}
