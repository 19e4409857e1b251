//! MIG: GPUs cut into devices of their own.

use crate::entry::{device, gpu};
use crate::ffi::{Fault, Out, described, put};
use crate::handle::Handle;
use nvml_wrapper_sys::bindings::*;
use std::ffi::c_uint;

/// NOT_SUPPORTED for a GPU that cannot do MIG at all.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigMode(
    handle: Handle,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        described(&d.gpu.mig_capacity)?;
        let mode = c_uint::from(d.gpu.mig.is_some());
        put(current, mode)?;
        put(pending, mode)
    })
}

/// The most MIG devices there can be, not those there are.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMaxMigDeviceCount(
    handle: Handle,
    count: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| put(count, d.gpu.mig_capacity.unwrap_or(0)))
}

/// NOT_FOUND for an empty slot, INVALID beyond the last one.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    handle: Handle,
    slot: c_uint,
    out: Out<Handle>,
) -> nvmlReturn_t {
    gpu(handle, |d| match d.gpu.mig_in(slot as usize) {
        Some(mig) => put(out, Handle::mig(d.index, mig.slot)),
        None if d.gpu.mig.is_none() => Err(Fault::NOT_SUPPORTED),
        None if slot < d.gpu.mig_capacity.unwrap_or(0) => Err(Fault::NOT_FOUND),
        None => Err(Fault::INVALID),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceIsMigDeviceHandle(handle: Handle, out: Out<c_uint>) -> nvmlReturn_t {
    device(handle, |d| put(out, c_uint::from(d.mig.is_some())))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    handle: Handle,
    out: Out<Handle>,
) -> nvmlReturn_t {
    device(handle, |d| match d.mig {
        Some(_) => put(out, Handle::gpu(d.index)),
        None => Err(Fault::INVALID),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGpuInstanceId(handle: Handle, id: Out<c_uint>) -> nvmlReturn_t {
    device(handle, |d| put(id, d.mig.ok_or(Fault::NOT_SUPPORTED)?.1.gpu_instance))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetComputeInstanceId(handle: Handle, id: Out<c_uint>) -> nvmlReturn_t {
    device(handle, |d| put(id, d.mig.ok_or(Fault::NOT_SUPPORTED)?.1.compute_instance))
}

/// The size of a MIG device; whole GPUs do not answer. Engines other than the SMs are reported as
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetAttributes_v2(
    handle: Handle,
    out: Out<nvmlDeviceAttributes_t>,
) -> nvmlReturn_t {
    device(handle, |d| {
        let (_, mig) = d.mig.ok_or(Fault::NOT_SUPPORTED)?;
        let attributes = nvmlDeviceAttributes_t {
            multiprocessorCount: mig.multiprocessors,
            sharedCopyEngineCount: 0,
            sharedDecoderCount: 0,
            sharedEncoderCount: 0,
            sharedJpegCount: 0,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: mig.slices,
            computeInstanceSliceCount: mig.slices,
            memorySizeMB: mig.memory_mib,
        };
        put(out, attributes)
    })
}
