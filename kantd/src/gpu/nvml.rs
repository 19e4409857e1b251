//! GPU discovery through NVML, NVIDIA's management library. It only reads. A machine without the
//! library is a CPU node; a broken GPU is skipped with the reason, and the others are offered.

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

/// The kernel's directory of PCI devices, below the root.
const PCI_DEVICES: &str = "sys/bus/pci/devices";

/// Lists the machine's GPUs with the library at `library`, by default the system's
/// `libnvidia-ml.so.1`; `None` for a CPU node, without the library. Takes some seconds if the
/// driver does not stay initialised without a user: not for async threads.
///
/// # Errors
/// When the library exists but does not load, start or count the GPUs.
pub fn discover(library: Option<&Path>) -> Result<Option<GpuInventory>, GpuError> {
    discover_with(library, Path::new("/"))
}

/// Like [`discover`], with the kernel's files (/proc, /sys) below another root.
///
/// # Errors
/// As [`discover`].
pub fn discover_with(
    library: Option<&Path>,
    root: &Path,
) -> Result<Option<GpuInventory>, GpuError> {
    match open(library)? {
        None => Ok(None),
        Some(nvml) => read_inventory(&nvml, root).map(Some),
    }
}

/// GPUs that jobs can use, each with its device.
type Offered<'nvml> = Vec<(Gpu, Device<'nvml>)>;

fn read_inventory(nvml: &Nvml, root: &Path) -> Result<GpuInventory, GpuError> {
    let ask = |what| move |source| GpuError::Ask { what, source };
    let driver = nvml.sys_driver_version().map_err(ask("its version"))?;
    let count = nvml.device_count().map_err(ask("the number of GPUs"))?;
    let (mut gpus, mut devices, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for driver_index in 0..count {
        let (offered, skip) = describe_offer(nvml, driver_index, root);
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

/// A GPU that is not offered, or not with all its MIG devices.
struct Skip {
    uuid: Option<String>,
    reason: String,
}

/// What one of the driver's GPUs offers: itself or its MIG devices, and the reason if that is not
/// all.
fn describe_offer<'nvml>(
    nvml: &'nvml Nvml,
    driver_index: u32,
    root: &Path,
) -> (Offered<'nvml>, Option<Skip>) {
    let device = nvml.device_by_index(driver_index);
    let (gpu, device) = match device.and_then(|device| Ok((describe(&device, root)?, device))) {
        Ok(described) => described,
        Err(error) => {
            return (Vec::new(), Some(Skip { uuid: None, reason: describe_error(&error) }));
        }
    };
    // A GPU without MIG reports that it is not supported.
    let is_cut = device.mig_mode().is_ok_and(|mode| mode.current != 0);
    if !is_cut {
        return (vec![(gpu, device)], None);
    }
    let (devices, reason) = mig::devices(&gpu, &device, driver_index, root);
    (devices, reason.map(|reason| Skip { uuid: Some(gpu.uuid), reason }))
}

fn describe_error(error: &NvmlError) -> String {
    let advice = match error {
        NvmlError::GpuLost => "reboot the node; if the error returns, the GPU is broken",
        NvmlError::ResetRequired => "reset it with `nvidia-smi -r` or reboot the node",
        NvmlError::NoPermission => "run kantd as root",
        NvmlError::InsufficientPower => "check its power cables",
        _ => "check the kernel log for NVRM lines",
    };
    format!("the driver cannot identify it: {error}; {advice}")
}

/// A whole GPU, whose index among the offered ones is not known yet.
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

/// A PCI address in the kernel's form: `0000:1b:00.0`. NVML's has eight digits of domain.
fn kernel_address(pci: &PciInfo) -> String {
    let PciInfo { domain, bus, device, .. } = pci;
    format!("{domain:04x}:{bus:02x}:{device:02x}.0")
}

/// The NUMA node of a PCI device from the kernel, which writes -1 if it does not know. (NVML's
/// "NUMA node id" is something else: the node that the GPU's own memory forms, as on Grace Hopper.)
fn numa_in(root: &Path, address: &str) -> Option<u16> {
    let device = root.join(PCI_DEVICES).join(address);
    let text = fs::read_to_string(device.join("numa_node")).ok()?;
    text.trim().parse().ok()
}

/// The nearest NUMA node according to NVML, if there is only one.
fn numa_by_memory(device: &Device) -> Option<u16> {
    let words = device.memory_affinity(WORDS_OF_CPUS, NVML_AFFINITY_SCOPE_NODE).ok()?;
    let nodes = numbers_in(&words);
    let mut nodes = nodes.iter();
    let first = nodes.next()?;
    if nodes.next().is_some() { None } else { u16::try_from(first).ok() }
}

/// The CPUs near a GPU; empty if NVML does not know.
fn near_cpus(device: &Device) -> CpuSet {
    device.cpu_affinity(WORDS_OF_CPUS).map(|words| numbers_in(&words)).unwrap_or_default()
}

/// Words of an affinity mask for all CPU ids.
const WORDS_OF_CPUS: usize = (CPU_ID_MAX / c_ulong::BITS + 1) as usize;

/// The numbers in an affinity mask.
fn numbers_in(words: &[c_ulong]) -> CpuSet {
    let bits = (0..=CPU_ID_MAX).filter(|number| {
        let word = words.get((number / c_ulong::BITS) as usize);
        word.is_some_and(|word| word >> (number % c_ulong::BITS) & 1 == 1)
    });
    bits.collect()
}
