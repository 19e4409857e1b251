//! What a GPU uses now: memory, time, power, heat, clocks. Constant until the file changes.

use crate::entry::{Device, device, gpu};
use crate::ffi::{Answer, Fault, InOut, Out, described, enabled, put, version_word};
use crate::handle::Handle;
use nvml_wrapper_sys::bindings::*;
use std::ffi::{c_uint, c_ulonglong};

/// Bytes in one MiB.
const MIB: c_ulonglong = 1 << 20;

/// Total, reserved and used bytes of a GPU or a MIG device.
fn memory_of_device(d: &Device) -> Answer<(c_ulonglong, c_ulonglong, c_ulonglong)> {
    let used = d.gpu.used_mib(d.mig.map(|(slot, _)| slot));
    let (total, reserved) = match d.mig {
        Some((_, mig)) => (mig.memory_mib, 0),
        None => (described(&d.gpu.memory_mib)?, d.gpu.reserved_mib.unwrap_or(0)),
    };
    Ok((total * MIB, reserved * MIB, used * MIB))
}

/// The first version counts what the driver reserves as used.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryInfo(handle: Handle, out: Out<nvmlMemory_t>) -> nvmlReturn_t {
    device(handle, |d| {
        let (total, reserved, used) = memory_of_device(&d)?;
        let used = used + reserved;
        put(out, nvmlMemory_t { total, free: total.saturating_sub(used), used })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    handle: Handle,
    out: InOut<nvmlMemory_v2_t>,
) -> nvmlReturn_t {
    device(handle, |d| {
        let out = out.ok_or(Fault::INVALID)?;
        if out.version != version_word::<nvmlMemory_v2_t>(2) {
            return Err(Fault::VERSION);
        }
        let (total, reserved, used) = memory_of_device(&d)?;
        let free = total.saturating_sub(reserved + used);
        *out = nvmlMemory_v2_t { version: out.version, total, reserved, free, used };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetUtilizationRates(
    handle: Handle,
    out: Out<nvmlUtilization_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let usage = described(&d.gpu.utilization_percent)?;
        put(out, nvmlUtilization_t { gpu: usage.gpu, memory: usage.memory })
    })
}

/// Milliwatts.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPowerUsage(handle: Handle, out: Out<c_uint>) -> nvmlReturn_t {
    gpu(handle, |d| put(out, described(&d.gpu.power_watts)?.saturating_mul(1000)))
}

/// Milliwatts.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPowerManagementLimit(
    handle: Handle,
    out: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| put(out, described(&d.gpu.power_limit_watts)?.saturating_mul(1000)))
}

/// As [`nvmlDeviceGetPowerManagementLimit`]: nothing else limits a stand-in.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetEnforcedPowerLimit(
    handle: Handle,
    out: Out<c_uint>,
) -> nvmlReturn_t {
    nvmlDeviceGetPowerManagementLimit(handle, out)
}

/// Millijoules.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    handle: Handle,
    out: Out<c_ulonglong>,
) -> nvmlReturn_t {
    gpu(handle, |d| put(out, described(&d.gpu.energy_joules)?.saturating_mul(1000)))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTemperature(
    handle: Handle,
    sensor: nvmlTemperatureSensors_t,
    out: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| match sensor {
        nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU => {
            put(out, described(&d.gpu.temperature_celsius)?)
        }
        _ => Err(Fault::INVALID),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetClockInfo(
    handle: Handle,
    kind: nvmlClockType_t,
    out: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let clocks = described(&d.gpu.clocks_mhz)?;
        let clock = match kind {
            nvmlClockType_enum_NVML_CLOCK_GRAPHICS => clocks.graphics,
            nvmlClockType_enum_NVML_CLOCK_SM => clocks.sm,
            nvmlClockType_enum_NVML_CLOCK_MEM => clocks.memory,
            nvmlClockType_enum_NVML_CLOCK_VIDEO => clocks.video,
            _ => return Err(Fault::INVALID),
        };
        put(out, clock)
    })
}

/// As [`nvmlDeviceGetClockInfo`]: a stand-in always runs as fast as it can.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMaxClockInfo(
    handle: Handle,
    kind: nvmlClockType_t,
    out: Out<c_uint>,
) -> nvmlReturn_t {
    nvmlDeviceGetClockInfo(handle, kind, out)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetClock(
    handle: Handle,
    kind: nvmlClockType_t,
    which: nvmlClockId_t,
    out: Out<c_uint>,
) -> nvmlReturn_t {
    match which {
        nvmlClockId_enum_NVML_CLOCK_ID_CURRENT => nvmlDeviceGetClockInfo(handle, kind, out),
        _ => gpu(handle, |_| Err(Fault::NOT_SUPPORTED)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPersistenceMode(
    handle: Handle,
    out: Out<nvmlEnableState_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| put(out, enabled(described(&d.gpu.persistence)?)))
}
