//! How near two GPUs are over PCIe, and what they may do to each other.

use crate::entry::{gpu, pair};
use crate::ffi::{Array, Fault, InOut, Out, put, put_list_or_count};
use crate::handle::Handle;
use crate::wiring::{ancestor, nvlinked};
use nvml_wrapper_sys::bindings::*;
use std::ffi::c_uint;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    a: Handle,
    b: Handle,
    level: Out<nvmlGpuTopologyLevel_t>,
) -> nvmlReturn_t {
    pair(a, b, |a, b| put(level, ancestor(a.machine, a.index, b.index)))
}

/// The GPUs whose common ancestor with this one is at exactly this level.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTopologyNearestGpus(
    handle: Handle,
    level: nvmlGpuTopologyLevel_t,
    count: InOut<c_uint>,
    array: Array<Handle>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let others = (0..d.machine.gpus.len()).filter(|other| *other != d.index);
        let near = others.filter(|other| ancestor(d.machine, d.index, *other) == level);
        put_list_or_count(count, array, &near.map(Handle::gpu).collect::<Vec<_>>())
    })
}

/// NVLink works where links are up. The other ways work over NVLink too, and over PCIe within a
/// NUMA node.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetP2PStatus(
    a: Handle,
    b: Handle,
    what: nvmlGpuP2PCapsIndex_t,
    status: Out<nvmlGpuP2PStatus_t>,
) -> nvmlReturn_t {
    pair(a, b, |a, b| {
        if what >= nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_UNKNOWN || a.index == b.index {
            return Err(Fault::INVALID);
        }
        let across = ancestor(a.machine, a.index, b.index);
        let answer = if nvlinked(a.machine, a.index, b.index) {
            nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_OK
        } else if what == nvmlGpuP2PCapsIndex_enum_NVML_P2P_CAPS_INDEX_NVLINK {
            nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_NOT_SUPPORTED
        } else if across == nvmlGpuLevel_enum_NVML_TOPOLOGY_SYSTEM {
            nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED
        } else {
            nvmlGpuP2PStatus_enum_NVML_P2P_STATUS_OK
        };
        put(status, answer)
    })
}
