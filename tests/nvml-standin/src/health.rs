//! Signs of sickness: ECC counts and remapped rows.

use crate::entry::{Device, gpu};
use crate::ffi::{Answer, Fault, Out, described, enabled, put};
use crate::handle::Handle;
use crate::machine::Errors;
use nvml_wrapper_sys::bindings::*;
use std::ffi::{c_uint, c_ulonglong};

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetEccMode(
    handle: Handle,
    current: Out<nvmlEnableState_t>,
    pending: Out<nvmlEnableState_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let on = enabled(!described(&d.gpu.ecc)?.off);
        put(current, on)?;
        put(pending, on)
    })
}

/// Errors of one type since the driver was loaded (volatile) or ever (aggregate).
fn count_errors(
    device: &Device,
    kind: nvmlMemoryErrorType_t,
    since: nvmlEccCounterType_t,
) -> Answer<c_ulonglong> {
    let ecc = described(&device.gpu.ecc)?;
    if ecc.off {
        return Err(Fault::NOT_SUPPORTED);
    }
    let Errors { corrected, uncorrected } = match since {
        nvmlEccCounterType_enum_NVML_VOLATILE_ECC => ecc.volatile,
        nvmlEccCounterType_enum_NVML_AGGREGATE_ECC => ecc.aggregate,
        _ => return Err(Fault::INVALID),
    };
    match kind {
        nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED => Ok(corrected),
        nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED => Ok(uncorrected),
        _ => Err(Fault::INVALID),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTotalEccErrors(
    handle: Handle,
    kind: nvmlMemoryErrorType_t,
    since: nvmlEccCounterType_t,
    count: Out<c_ulonglong>,
) -> nvmlReturn_t {
    gpu(handle, |d| put(count, count_errors(&d, kind, since)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetDetailedEccErrors(
    handle: Handle,
    kind: nvmlMemoryErrorType_t,
    since: nvmlEccCounterType_t,
    counts: Out<nvmlEccErrorCounts_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let deviceMemory = count_errors(&d, kind, since)?;
        put(counts, nvmlEccErrorCounts_t { deviceMemory, l1Cache: 0, l2Cache: 0, registerFile: 0 })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    handle: Handle,
    kind: nvmlMemoryErrorType_t,
    since: nvmlEccCounterType_t,
    place: nvmlMemoryLocation_t,
    count: Out<c_ulonglong>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let in_dram = count_errors(&d, kind, since)?;
        match place {
            nvmlMemoryLocation_enum_NVML_MEMORY_LOCATION_DRAM => put(count, in_dram),
            place if place < nvmlMemoryLocation_enum_NVML_MEMORY_LOCATION_COUNT => put(count, 0),
            _ => Err(Fault::INVALID),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetRemappedRows(
    handle: Handle,
    corrected: Out<c_uint>,
    uncorrected: Out<c_uint>,
    pending: Out<c_uint>,
    failed: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let rows = described(&d.gpu.remapped_rows)?;
        put(corrected, rows.corrected)?;
        put(uncorrected, rows.uncorrected)?;
        put(pending, c_uint::from(rows.pending))?;
        put(failed, c_uint::from(rows.failed))
    })
}
