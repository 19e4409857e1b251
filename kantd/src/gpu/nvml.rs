//! GPU discovery through NVML, NVIDIA's management library. Reads, and changes nothing on the
//! machine. A machine without the library is a CPU node, not an error; one broken GPU is skipped
//! with its reason and costs the node nothing else.

mod load;
mod mig;
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

/// Where the kernel tells about PCI devices, below its root.
const PCI_DEVICES: &str = "sys/bus/pci/devices";

/// Lists the machine's GPUs with the library at `library`, by default the system's
/// `libnvidia-ml.so.1`. `None` when there is no such library: a CPU node. Takes up to some seconds
/// where the driver does not stay initialised without a user, so never call it on an async thread.
///
/// # Errors
/// When the library is there and does not load, start or count.
pub fn discover(library: Option<&Path>) -> Result<Option<GpuInventory>, GpuError> {
    discover_with(library, Path::new("/"))
}

/// As [`discover`], with the kernel's files (/proc, /sys) below another root.
///
/// # Errors
/// As [`discover`].
pub fn discover_with(
    library: Option<&Path>,
    root: &Path,
) -> Result<Option<GpuInventory>, GpuError> {
    match open(library)? {
        None => Ok(None),
        Some(nvml) => inventory(&nvml, root).map(Some),
    }
}

/// GPUs that jobs can have, each with its device.
type Offered<'nvml> = Vec<(Gpu, Device<'nvml>)>;

fn inventory(nvml: &Nvml, root: &Path) -> Result<GpuInventory, GpuError> {
    let ask = |what| move |source| GpuError::Ask { what, source };
    let driver = nvml.sys_driver_version().map_err(ask("its version"))?;
    let count = nvml.device_count().map_err(ask("the number of GPUs"))?;
    let (mut gpus, mut devices, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for driver_index in 0..count {
        let (offered, skip) = look_at(nvml, driver_index, root);
        for (gpu, device) in offered {
            let index = GpuIndex(u16::try_from(gpus.len()).unwrap_or(u16::MAX));
            gpus.push(Gpu { index, ..gpu });
            devices.push(device);
        }
        let skip = skip.map(|Skip { uuid, reason }| SkippedGpu { driver_index, uuid, reason });
        skipped.extend(skip);
    }
    let matrix = path::matrix(nvml, &devices, &gpus);
    Ok(GpuInventory { driver, gpus, matrix, skipped })
}

/// A GPU that is not offered, or not with all of its MIG devices.
struct Skip {
    uuid: Option<String>,
    reason: String,
}

/// What jobs can have of one of the driver's GPUs: all of it, or its MIG devices; and why not more.
fn look_at<'nvml>(
    nvml: &'nvml Nvml,
    driver_index: u32,
    root: &Path,
) -> (Offered<'nvml>, Option<Skip>) {
    let device = nvml.device_by_index(driver_index);
    let (gpu, device) = match device.and_then(|device| Ok((describe(&device, root)?, device))) {
        Ok(described) => described,
        Err(error) => return (Vec::new(), Some(Skip { uuid: None, reason: sick(&error) })),
    };
    // A GPU without MIG answers that it does not support it.
    let is_cut = device.mig_mode().is_ok_and(|mode| mode.current != 0);
    if !is_cut {
        return (vec![(gpu, device)], None);
    }
    let (devices, reason) = mig::devices(&gpu, &device, driver_index, root);
    (devices, reason.map(|reason| Skip { uuid: Some(gpu.uuid), reason }))
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

/// A whole GPU; which place it has among those that are offered is not known yet.
fn describe(device: &Device, root: &Path) -> Result<Gpu, NvmlError> {
    let model = device.name()?;
    let pci_bus_id = kernel_address(&device.pci_info()?);
    Ok(Gpu {
        index: GpuIndex(0),
        uuid: device.uuid()?,
        kind: GpuKind::from_model(&model),
        model,
        memory: Bytes(device.memory_info()?.total),
        minor: device.minor_number()?,
        numa: numa_in(root, &pci_bus_id).or_else(|| numa_by_memory(device)),
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
fn numa_in(root: &Path, address: &str) -> Option<u16> {
    let device = root.join(PCI_DEVICES).join(address);
    let text = fs::read_to_string(device.join("numa_node")).ok()?;
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
