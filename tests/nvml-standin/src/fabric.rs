//! The multi-node NVLink domain that a GPU belongs to.

use crate::entry::gpu;
use crate::ffi::{Fault, InOut, described, version_word};
use crate::handle::Handle;
use crate::machine::FabricState;
use nvml_wrapper_sys::bindings::*;

/// Only version 3 of the struct, the one that nvml-wrapper-sys names.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetGpuFabricInfoV(
    handle: Handle,
    info: InOut<nvmlGpuFabricInfo_v3_t>,
) -> nvmlReturn_t {
    gpu(handle, |d| {
        let info = info.ok_or(Fault::INVALID)?;
        if info.version != version_word::<nvmlGpuFabricInfo_v3_t>(3) {
            return Err(Fault::VERSION);
        }
        let fabric = described(&d.machine.fabric)?;
        info.clusterUuid = fabric.cluster_uuid;
        info.cliqueId = fabric.clique;
        info.status = nvmlReturn_enum_NVML_SUCCESS;
        info.state = match fabric.state {
            FabricState::NotStarted => NVML_GPU_FABRIC_STATE_NOT_STARTED as u8,
            FabricState::InProgress => NVML_GPU_FABRIC_STATE_IN_PROGRESS as u8,
            FabricState::Completed => NVML_GPU_FABRIC_STATE_COMPLETED as u8,
        };
        info.healthMask = 0;
        info.healthSummary = NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY as u8;
        Ok(())
    })
}
