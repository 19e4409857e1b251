//! MIG devices, and processes on whole GPUs and on parts of them.

#![allow(clippy::unwrap_used)] // A panic is how a test reports.

mod support;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings as sys;
use support::File;

/// A DGX H100 whose first GPU is cut in two, with a hole between the parts, and busy.
fn cut(test: &str) -> File {
    let first = "pci = \"0000:1b:00.0\"";
    let parts = r#"
processes = [
    { pid = 4711, memory_mib = 1000, mig = 2, name = "train" },
    { pid = 4712, memory_mib = 500, mig = 0 },
    { pid = 4713, memory_mib = 20, kind = "graphics" },
]
mig = [
    { slot = 0, profile = "3g.40gb", gpu_instance = 1, compute_instance = 0,
      memory_mib = 40448, slices = 3, multiprocessors = 60 },
    { slot = 2, profile = "1g.10gb", gpu_instance = 9, compute_instance = 0,
      memory_mib = 9984, slices = 1, multiprocessors = 16 },
]"#;
    File::changed(test, "dgx-h100", &[(first, &format!("{first}{parts}"))])
}

/// The MIG devices of a GPU, as every client has to ask: up to the maximum, past the empty places.
fn parts<'nvml>(gpu: &Device<'nvml>) -> Vec<Device<'nvml>> {
    let all = (0..gpu.mig_device_count().unwrap()).map(|slot| gpu.mig_device_by_index(slot));
    let there = all.filter(|part| !matches!(part, Err(NvmlError::NotFound)));
    there.collect::<Result<_, _>>().unwrap()
}

/// The GPU and compute instance ids, which the wrapper has no method for.
fn instances(nvml: &Nvml, device: &Device) -> (u32, u32) {
    let (mut gpu, mut compute) = (99, 99);
    let lib = nvml.lib();
    // SAFETY: the handle is of this library and both outputs outlive the calls.
    unsafe {
        let get = lib.nvmlDeviceGetGpuInstanceId.as_ref().unwrap();
        assert_eq!(get(device.handle(), &raw mut gpu), sys::nvmlReturn_enum_NVML_SUCCESS);
        let get = lib.nvmlDeviceGetComputeInstanceId.as_ref().unwrap();
        assert_eq!(get(device.handle(), &raw mut compute), sys::nvmlReturn_enum_NVML_SUCCESS);
    }
    (gpu, compute)
}

#[test]
fn a_cut_gpu_has_devices_of_its_own() {
    let file = cut("mig-devices");
    let machine = file.open();
    let gpu = machine.device_by_index(0).unwrap();
    assert_eq!(gpu.mig_mode().unwrap().current, 1);
    assert_eq!(gpu.mig_device_count().unwrap(), 7, "the most there can be");
    let parts = parts(&gpu);
    assert_eq!(parts.len(), 2);
    assert_eq!(instances(&machine, &parts[1]), (9, 0));
    let (small, attributes) = (&parts[1], parts[1].attributes().unwrap());
    assert_eq!(attributes.memory_size_mb, 9984);
    assert_eq!(attributes.gpu_instance_slice_count, 1);
    assert_eq!(small.name().unwrap(), "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
    assert_eq!(small.memory_info().unwrap().total, 9984 << 20);
    assert!(small.mig_is_mig_device_handle().unwrap());
    assert_eq!(small.mig_parent_device().unwrap().uuid().unwrap(), gpu.uuid().unwrap());
    let uuid = small.uuid().unwrap();
    assert!(uuid.starts_with("MIG-"), "{uuid}");
    assert_eq!(machine.device_by_uuid(uuid).unwrap().index().unwrap(), 2);
    assert!(matches!(small.minor_number(), Err(NvmlError::InvalidArg)));

    let whole = machine.device_by_index(1).unwrap();
    assert_eq!(whole.mig_mode().unwrap().current, 0);
    assert!(matches!(whole.mig_device_by_index(0), Err(NvmlError::NotSupported)));
}

#[test]
fn processes_are_listed_where_they_run() {
    let file = cut("mig-processes");
    let machine = file.open();
    let gpu = machine.device_by_index(0).unwrap();
    let mut running: Vec<(u32, Option<u32>)> = gpu
        .running_compute_processes()
        .unwrap()
        .into_iter()
        .map(|process| (process.pid, process.gpu_instance_id))
        .collect();
    running.sort_unstable();
    assert_eq!(running, [(4711, Some(9)), (4712, Some(1))]);
    let inside = parts(&gpu)[1].running_compute_processes().unwrap();
    assert_eq!(inside.len(), 1);
    assert_eq!(inside[0].used_gpu_memory, UsedGpuMemory::Used(1000 << 20));
    let graphics = gpu.running_graphics_processes().unwrap();
    assert_eq!((graphics[0].pid, graphics[0].gpu_instance_id), (4713, None));
    assert_eq!(gpu.memory_info().unwrap().used, 1520 << 20);
    assert_eq!(machine.sys_process_name(4711, 64).unwrap(), "train");
    assert!(matches!(machine.sys_process_name(1, 64), Err(NvmlError::NotFound)));
    assert!(machine.device_by_index(1).unwrap().running_compute_processes().unwrap().is_empty());
}
