//! Functions that callers may ask for and no machine file describes: they are there and answer
//! NOT_SUPPORTED, as an old GPU would, where a missing symbol would look like an old driver.

use crate::entry::device;
use crate::ffi::{Array, Fault};
use crate::handle::Handle;
use nvml_wrapper_sys::bindings::*;
use std::ffi::c_int;

/// Declares functions whose first argument is a device. Their further arguments are not looked at,
/// and need not be declared: with the C calling convention the caller removes them.
macro_rules! not_supported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: Handle) -> nvmlReturn_t {
            device(handle, |_| Err(Fault::NOT_SUPPORTED))
        }
    )*};
}

not_supported! {
    nvmlDeviceClearAccountingPids
    nvmlDeviceGetAccountingBufferSize
    nvmlDeviceGetAccountingMode
    nvmlDeviceGetAccountingPids
    nvmlDeviceGetAccountingStats
    nvmlDeviceGetBAR1MemoryInfo
    nvmlDeviceGetBoardPartNumber
    nvmlDeviceGetBrand
    nvmlDeviceGetComputeMode
    nvmlDeviceGetCurrPcieLinkGeneration
    nvmlDeviceGetCurrPcieLinkWidth
    nvmlDeviceGetCurrentClocksThrottleReasons
    nvmlDeviceGetFanSpeed_v2
    nvmlDeviceGetMaxPcieLinkGeneration
    nvmlDeviceGetMaxPcieLinkWidth
    nvmlDeviceGetModuleId
    nvmlDeviceGetMPSComputeRunningProcesses_v3
    nvmlDeviceGetNumaNodeId
    nvmlDeviceGetNvLinkErrorCounter
    nvmlDeviceGetPerformanceState
    nvmlDeviceGetProcessUtilization
    nvmlDeviceGetRetiredPages_v2
    nvmlDeviceGetRetiredPagesPendingStatus
    nvmlDeviceGetSerial
    nvmlDeviceGetTemperatureThreshold
    nvmlDeviceGetVbiosVersion
    nvmlDeviceSetAccountingMode
    nvmlDeviceSetMigMode
    nvmlDeviceSetPersistenceMode
    nvmlGpmQueryDeviceSupport
}

/// Succeeds as a call, and says of every single field that it is not supported.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetFieldValues(
    handle: Handle,
    count: c_int,
    values: Array<nvmlFieldValue_t>,
) -> nvmlReturn_t {
    device(handle, |_| {
        let count = usize::try_from(count).map_err(|_| Fault::INVALID)?;
        values.edit(count, |value| value.nvmlReturn = Fault::NOT_SUPPORTED.0)
    })
}
