//! What of the machine is near a GPU: CPUs and memory nodes.

use crate::entry::gpu;
use crate::ffi::{Array, described, put_mask};
use crate::handle::Handle;
use nvml_wrapper_sys::bindings::*;
use std::ffi::c_uint;
use std::os::raw::c_ulong;

/// The CPUs near a GPU, as a mask; those beyond the mask are left out.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCpuAffinity(
    handle: Handle,
    size: c_uint,
    set: Array<c_ulong>,
) -> nvmlReturn_t {
    gpu(handle, |d| put_mask(set, size, &described(&d.gpu.cpus)?.0))
}

/// As [`nvmlDeviceGetCpuAffinity`]: node and socket are one thing here.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCpuAffinityWithinScope(
    handle: Handle,
    size: c_uint,
    set: Array<c_ulong>,
    _scope: nvmlAffinityScope_t,
) -> nvmlReturn_t {
    nvmlDeviceGetCpuAffinity(handle, size, set)
}

/// The NUMA node that the GPU hangs on, as a mask.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryAffinity(
    handle: Handle,
    size: c_uint,
    set: Array<c_ulong>,
    _scope: nvmlAffinityScope_t,
) -> nvmlReturn_t {
    gpu(handle, |d| put_mask(set, size, &[described(&d.gpu.numa)?]))
}
