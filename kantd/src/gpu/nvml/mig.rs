//! The MIG devices of a GPU, listed as GPUs of their own kinds. The driver lists them, and the
//! kernel's files name the device files that open them.
//! Source: NVIDIA's MIG user guide, "Device Nodes and Capabilities".

use super::{Offered, describe_error};
use common::gpu::Gpu;
use common::gpu::mig::{DeviceNumber, MigDevice};
use common::unit::Bytes;
use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};
use std::ffi::c_uint;
use std::fs;
use std::path::Path;

/// The kernel's list of majors and drivers, below its root.
const MAJORS: &str = "proc/devices";

/// The name of the driver's MIG devices in that list.
const DRIVER: &str = "nvidia-caps";

/// The driver's directory of MIG capabilities, below the kernel's root.
const CAPABILITIES: &str = "proc/driver/nvidia/capabilities";

/// A function of the library that returns a number of a device.
type Ask = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint) -> nvmlReturn_t;

/// The MIG devices of a GPU in MIG mode, and the reason if they are none or incomplete.
pub(super) fn devices<'nvml>(
    whole: &Gpu,
    device: &Device<'nvml>,
    driver_index: u32,
    root: &Path,
) -> (Offered<'nvml>, Option<String>) {
    // The maximum; entries may be empty.
    let places = match device.mig_device_count() {
        Ok(count) => 0..count,
        Err(error) => {
            return (Vec::new(), Some(format!("its MIG devices: {}", describe_error(&error))));
        }
    };
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for place in places {
        match device.mig_device_by_index(place) {
            Err(NvmlError::NotFound) => {}
            Err(error) => faults.push(format!("MIG device {place}: {}", describe_error(&error))),
            Ok(mig) => match describe(whole, &mig, root) {
                Ok(gpu) => found.push((gpu, mig)),
                Err(fault) => {
                    faults.push(format!("MIG device {place} ({}): {fault}", profile_name(&mig)))
                }
            },
        }
    }
    let reason = match (found.is_empty(), faults.is_empty()) {
        (true, true) => Some(format!(
            "it is in MIG mode and has no MIG devices: create them (`nvidia-smi mig -i \
             {driver_index} -cgi PROFILES -C`), or disable MIG mode (`nvidia-smi \
             -i {driver_index} -mig 0`), and restart kantd"
        )),
        (true, false) => Some(format!("none of its MIG devices is offered: {}", faults.join("; "))),
        (false, true) => None,
        (false, false) => {
            Some(format!("not all of its MIG devices are offered: {}", faults.join("; ")))
        }
    };
    (found, reason)
}

/// A MIG device's profile, for messages.
fn profile_name(mig: &Device) -> String {
    mig.name().map_or_else(|_| "unnamed".to_owned(), |name| profile_in_name(&name).to_owned())
}

/// The profile in a MIG device's name: `NVIDIA H100 80GB HBM3 MIG 1g.10gb`.
fn profile_in_name(name: &str) -> &str {
    name.rsplit(' ').next().unwrap_or(name)
}

/// A MIG device; its device node, position and CPUs are its GPU's.
fn describe(whole: &Gpu, mig: &Device, root: &Path) -> Result<Gpu, String> {
    let failed = |error: NvmlError| describe_error(&error);
    let model = mig.name().map_err(failed)?;
    let kind = whole.kind.with_mig_profile(profile_in_name(&model));
    if !kind.is_mig() {
        return Err(format!(
            "the driver names it `{model}`, which ends in no profile that kant knows: try a later \
             release of kant"
        ));
    }
    let (gpu_instance, compute_instance) = instance_numbers(mig).map_err(failed)?;
    let capabilities = capability_devices(root, whole.minor, gpu_instance, compute_instance)?;
    Ok(Gpu {
        uuid: mig.uuid().map_err(failed)?,
        kind,
        model,
        memory: Bytes(mig.memory_info().map_err(failed)?.total),
        mig: Some(MigDevice { of: whole.uuid.clone(), capabilities }),
        ..whole.clone()
    })
}

/// The numbers of a MIG device's GPU instance and compute instance. Calls the library directly,
/// because the wrapper (0.13) has no methods for it.
fn instance_numbers(mig: &Device) -> Result<(u32, u32), NvmlError> {
    let lib = mig.nvml().lib();
    let number = |ask: &Ask| {
        let mut number = 0;
        // SAFETY: the handle comes from this library, which stays loaded while the device lives,
        // and `number` outlives the call.
        nvml_try(unsafe { ask(mig.handle(), &raw mut number) }).map(|()| number)
    };
    let gpu_instance = nvml_sym(lib.nvmlDeviceGetGpuInstanceId.as_ref()).and_then(number)?;
    let compute_instance =
        nvml_sym(lib.nvmlDeviceGetComputeInstanceId.as_ref()).and_then(number)?;
    Ok((gpu_instance, compute_instance))
}

/// The device numbers of a MIG device's GPU instance and compute instance, on the GPU of this
/// minor.
fn capability_devices(
    root: &Path,
    gpu_minor: u32,
    gpu_instance: u32,
    compute_instance: u32,
) -> Result<[DeviceNumber; 2], String> {
    let major = mig_device_major(root)?;
    let instances = root.join(CAPABILITIES).join(format!("gpu{gpu_minor}/mig"));
    let gpu_instance = instances.join(format!("gi{gpu_instance}"));
    let compute_instance = gpu_instance.join(format!("ci{compute_instance}"));
    let device =
        |dir: &Path| minor_in_file(&dir.join("access")).map(|minor| DeviceNumber { major, minor });
    Ok([device(&gpu_instance)?, device(&compute_instance)?])
}

/// The major of the driver's MIG devices.
fn mig_device_major(root: &Path) -> Result<u32, String> {
    let file = root.join(MAJORS);
    let text = read(&file)?;
    // Block devices follow, which have their own majors.
    let lines = text.lines().take_while(|line| !line.starts_with("Block"));
    let mut drivers = lines.filter_map(|line| line.trim().split_once(' '));
    let major = drivers.find(|(_, driver)| driver.trim() == DRIVER);
    major.and_then(|(major, _)| major.parse().ok()).ok_or_else(|| {
        format!(
            "{} has no {DRIVER}: the NVIDIA driver must be 450 or later, and loaded",
            file.display()
        )
    })
}

/// The minor in an access file of the driver, which has lines like `DeviceFileMinor: 21`.
fn minor_in_file(file: &Path) -> Result<u32, String> {
    let text = read(file)?;
    let mut words = text.lines().filter_map(|line| line.split_once(':'));
    let minor = words.find(|(word, _)| word.trim() == "DeviceFileMinor");
    minor.and_then(|(_, minor)| minor.trim().parse().ok()).ok_or_else(|| {
        format!(
            "{} has no DeviceFileMinor: this version of the driver is not supported",
            file.display()
        )
    })
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| {
        format!(
            "failed to read {}: {error}; restart kantd if the GPU's MIG devices have changed, and \
             give it access to the machine's own /proc",
            file.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(devices: &str, access: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let instance = root.path().join(CAPABILITIES).join("gpu2/mig/gi1");
        fs::create_dir_all(instance.join("ci0")).unwrap();
        fs::write(root.path().join(MAJORS), devices).unwrap();
        fs::write(instance.join("access"), access).unwrap();
        fs::write(instance.join("ci0/access"), access.replace("12", "13")).unwrap();
        root
    }

    const DEVICES: &str = "Character devices:\n  1 mem\n195 nvidia\n234 nvidia-caps-imex-channels\n\
                           509 nvidia-caps\n\nBlock devices:\n  7 loop\n";
    const ACCESS: &str = "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n";

    #[test]
    fn a_mig_device_has_the_device_numbers_of_both_its_instances() {
        let root = root(DEVICES, ACCESS);
        let expected = [12, 13].map(|minor| DeviceNumber { major: 509, minor });
        assert_eq!(capability_devices(root.path(), 2, 1, 0), Ok(expected));
        let missing = capability_devices(root.path(), 2, 1, 1).unwrap_err();
        assert!(missing.contains("gpu2/mig/gi1/ci1/access"), "{missing}");
        assert!(missing.contains("restart kantd"), "{missing}");
    }

    #[test]
    fn a_kernel_file_in_another_format_is_an_error_that_names_it() {
        let other_access = root(DEVICES, "Minor 12\n");
        let error = capability_devices(other_access.path(), 2, 1, 0).unwrap_err();
        assert!(error.contains("gi1/access has no DeviceFileMinor"), "{error}");
        let block = "Character devices:\n234 nvidia-caps-imex\n\nBlock devices:\n509 nvidia-caps\n";
        let no_driver = root(block, ACCESS);
        let error = capability_devices(no_driver.path(), 2, 1, 0).unwrap_err();
        assert!(error.contains("proc/devices has no nvidia-caps"), "{error}");
    }
}
