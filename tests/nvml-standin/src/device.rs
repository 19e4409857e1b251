//! Which GPUs there are and what they are called: counts, handles, names, addresses.

use crate::entry::{device, gpu, machine};
use crate::ffi::{Array, Fault, Out, Text, count_of, described, put, put_text, text_array};
use crate::handle::Handle;
use crate::machine::{Architecture, Machine, PciAddress};
use nvml_wrapper_sys::bindings::*;
use std::ffi::{c_char, c_int, c_uint};

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCount_v2(count: Out<c_uint>) -> nvmlReturn_t {
    machine(|machine| put(count, count_of(machine.gpus.len())))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: Out<Handle>) -> nvmlReturn_t {
    machine(|machine| match machine.gpus.get(index as usize) {
        None => Err(Fault::INVALID),
        Some(gpu) if gpu.lost => Err(Fault::LOST),
        Some(_) => put(out, Handle::gpu(index as usize)),
    })
}

/// Finds GPUs and MIG devices.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetHandleByUUID(uuid: Text, out: Out<Handle>) -> nvmlReturn_t {
    machine(|machine| {
        let handle = by_uuid(machine, &uuid.read()?).ok_or(Fault::NOT_FOUND)?;
        put(out, handle)
    })
}

fn by_uuid(machine: &Machine, uuid: &str) -> Option<Handle> {
    machine.gpus.iter().enumerate().find_map(|(index, gpu)| {
        if gpu.uuid.as_deref() == Some(uuid) {
            return Some(Handle::gpu(index));
        }
        let mut migs = gpu.mig.iter().flatten();
        let mig = migs.find(|mig| mig.uuid.as_deref() == Some(uuid))?;
        Some(Handle::mig(index, mig.slot))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus: Text, out: Out<Handle>) -> nvmlReturn_t {
    machine(|machine| {
        let address = PciAddress::parse(&bus.read()?).ok_or(Fault::INVALID)?;
        let index = machine.gpus.iter().position(|gpu| gpu.pci == Some(address));
        put(out, Handle::gpu(index.ok_or(Fault::NOT_FOUND)?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetIndex(handle: Handle, index: Out<c_uint>) -> nvmlReturn_t {
    device(handle, |d| match d.mig {
        None => put(index, count_of(d.index)),
        Some((slot, _)) => put(index, count_of(slot)),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetName(
    handle: Handle,
    name: Array<c_char>,
    length: c_uint,
) -> nvmlReturn_t {
    device(handle, |d| {
        let model = described(&d.gpu.model)?;
        match d.mig {
            None => put_text(name, length, &model),
            Some((_, mig)) => put_text(name, length, &format!("{model} MIG {}", mig.profile)),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetUUID(
    handle: Handle,
    uuid: Array<c_char>,
    length: c_uint,
) -> nvmlReturn_t {
    device(handle, |d| {
        let own = d.mig.map_or(&d.gpu.uuid, |(_, mig)| &mig.uuid);
        put_text(uuid, length, &described(own)?)
    })
}

/// The N of /dev/nvidiaN.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMinorNumber(handle: Handle, minor: Out<c_uint>) -> nvmlReturn_t {
    gpu(handle, |d| put(minor, described(&d.gpu.minor)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPciInfo_v3(handle: Handle, pci: Out<nvmlPciInfo_t>) -> nvmlReturn_t {
    gpu(handle, |d| {
        let device_id = d.gpu.pci_device.unwrap_or(0);
        put(pci, pci_info(described(&d.gpu.pci)?, device_id))
    })
}

/// NVML's view of an address; the vendor is NVIDIA's 10de.
pub fn pci_info(address: PciAddress, device_id: u32) -> nvmlPciInfo_t {
    let PciAddress { domain, bus, device, function } = address;
    nvmlPciInfo_t {
        busIdLegacy: text_array(&format!("{domain:04X}:{bus:02X}:{device:02X}.{function}")),
        domain,
        bus,
        device,
        pciDeviceId: device_id << 16 | 0x10de,
        pciSubSystemId: 0,
        busId: text_array(&address.to_string()),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCudaComputeCapability(
    handle: Handle,
    major: Out<c_int>,
    minor: Out<c_int>,
) -> nvmlReturn_t {
    device(handle, |d| {
        let (high, low) = described(&d.gpu.compute_capability)?;
        put(major, high)?;
        put(minor, low)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetArchitecture(
    handle: Handle,
    out: Out<nvmlDeviceArchitecture_t>,
) -> nvmlReturn_t {
    device(handle, |d| {
        let code = match described(&d.gpu.architecture)? {
            Architecture::Volta => NVML_DEVICE_ARCH_VOLTA,
            Architecture::Turing => NVML_DEVICE_ARCH_TURING,
            Architecture::Ampere => NVML_DEVICE_ARCH_AMPERE,
            Architecture::Ada => NVML_DEVICE_ARCH_ADA,
            Architecture::Hopper => NVML_DEVICE_ARCH_HOPPER,
            Architecture::Blackwell => NVML_DEVICE_ARCH_BLACKWELL,
        };
        put(out, code)
    })
}
