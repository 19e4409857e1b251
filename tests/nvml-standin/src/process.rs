//! Which processes hold memory on a GPU.

use crate::entry::device;
use crate::ffi::{Answer, Array, InOut, put_list};
use crate::handle::Handle;
use crate::machine::{Gpu, Process, ProcessKind};
use nvml_wrapper_sys::bindings::*;
use std::ffi::c_uint;

/// NVML's word for "in no MIG instance".
const NO_INSTANCE: c_uint = c_uint::MAX;

fn process_info(gpu: &Gpu, process: &Process) -> nvmlProcessInfo_t {
    let mig = process.mig.and_then(|slot| gpu.mig_in(slot));
    nvmlProcessInfo_t {
        pid: process.pid,
        usedGpuMemory: process.memory_mib << 20,
        gpuInstanceId: mig.map_or(NO_INSTANCE, |mig| mig.gpu_instance),
        computeInstanceId: mig.map_or(NO_INSTANCE, |mig| mig.compute_instance),
    }
}

/// The processes of one kind; for a MIG device only its own.
fn list(
    handle: Handle,
    kind: ProcessKind,
    count: InOut<c_uint>,
    infos: Array<nvmlProcessInfo_t>,
) -> nvmlReturn_t {
    device(handle, |d| -> Answer {
        let here = |p: &&Process| d.mig.is_none_or(|(slot, _)| p.mig == Some(slot));
        let processes = d.gpu.processes.iter().filter(|p| p.kind == kind).filter(here);
        put_list(count, infos, &processes.map(|p| process_info(d.gpu, p)).collect::<Vec<_>>())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    handle: Handle,
    count: InOut<c_uint>,
    infos: Array<nvmlProcessInfo_t>,
) -> nvmlReturn_t {
    list(handle, ProcessKind::Compute, count, infos)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    handle: Handle,
    count: InOut<c_uint>,
    infos: Array<nvmlProcessInfo_t>,
) -> nvmlReturn_t {
    list(handle, ProcessKind::Graphics, count, infos)
}
