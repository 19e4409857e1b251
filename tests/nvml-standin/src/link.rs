//! NVLink by link: is it up, what is at the other end.

use crate::device::pci_info;
use crate::entry::{Device, gpu};
use crate::ffi::{Answer, Fault, Out, described, enabled, put};
use crate::handle::Handle;
use crate::wiring::{Link, Remote, links, switch_address};
use nvml_wrapper_sys::bindings::*;
use std::ffi::c_uint;

/// The PCI device id told for an NVSwitch.
const SWITCH_DEVICE_ID: u32 = 0x22a3;

/// NOT_SUPPORTED for a GPU without NVLink, INVALID for a number beyond its links.
fn find_link(device: &Device, number: c_uint) -> Answer<Link> {
    let links = &links(device.machine)[device.index];
    match links.get(number as usize) {
        Some(link) => Ok(*link),
        None if links.is_empty() => Err(Fault::NOT_SUPPORTED),
        None => Err(Fault::INVALID),
    }
}

/// What is at the other end of a link that is up; a dead link knows no other end.
fn remote_end(device: &Device, number: c_uint) -> Answer<Remote> {
    let link = find_link(device, number)?;
    if link.up { Ok(link.remote) } else { Err(Fault::NOT_SUPPORTED) }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkState(
    handle: Handle,
    number: c_uint,
    state: Out<nvmlEnableState_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| put(state, enabled(find_link(&d, number)?.up)))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkVersion(
    handle: Handle,
    number: c_uint,
    version: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        find_link(&d, number)?;
        put(version, described(&d.gpu.nvlink_version)?)
    })
}

/// Every link that is up can do everything but SLI.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkCapability(
    handle: Handle,
    number: c_uint,
    capability: nvmlNvLinkCapability_t,
    result: Out<c_uint>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let link = find_link(&d, number)?;
        if capability >= nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_COUNT {
            return Err(Fault::INVALID);
        }
        let sli = capability == nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_SLI_BRIDGE;
        put(result, c_uint::from(link.up && !sli))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    handle: Handle,
    number: c_uint,
    pci: Out<nvmlPciInfo_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let info = match remote_end(&d, number)? {
            Remote::Switch(switch) => pci_info(switch_address(switch), SWITCH_DEVICE_ID),
            Remote::Gpu(other) => {
                let other = &d.machine.gpus[other];
                pci_info(described(&other.pci)?, other.pci_device.unwrap_or(0))
            }
        };
        put(pci, info)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
    handle: Handle,
    number: c_uint,
    kind: Out<nvmlIntNvLinkDeviceType_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let code = match remote_end(&d, number)? {
            Remote::Gpu(_) => nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU,
            Remote::Switch(_) => nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
        };
        put(kind, code)
    })
}
