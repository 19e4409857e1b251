//! Callers that do everything wrong: null pointers, rubbish handles, small buffers, wrong versions,
//! calls before the start. Each gets its code and nothing falls over.

#![allow(clippy::unwrap_used)] // A panic is how a test reports.

mod support;

use nvml_wrapper_sys::bindings::*;
use std::mem::zeroed;
use std::ptr::{null, null_mut, without_provenance_mut};
use support::{File, find, open};

const GOOD: nvmlReturn_t = nvmlReturn_enum_NVML_SUCCESS;
const INVALID: nvmlReturn_t = nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT;
const TOO_SMALL: nvmlReturn_t = nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE;
const UNINITIALIZED: nvmlReturn_t = nvmlReturn_enum_NVML_ERROR_UNINITIALIZED;
const WRONG_VERSION: nvmlReturn_t = nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH;

/// Calls a function of the library by its C name.
macro_rules! call {
    ($machine:expr, $name:ident($($argument:expr),*)) => {{
        let function = $machine.lib().$name.as_ref().unwrap();
        // SAFETY: the pointers are null or good for the call; what is wrong about the other
        // arguments is what the stand-in promises to notice.
        unsafe { function($($argument),*) }
    }};
}

#[test]
fn null_is_an_invalid_argument() {
    let machine = open("dgx-h100");
    let gpu: nvmlDevice_t = without_provenance_mut(1 << 8);
    assert_eq!(call!(machine, nvmlDeviceGetCount_v2(null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetHandleByIndex_v2(0, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetHandleByUUID(null(), null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlSystemGetDriverVersion(null_mut(), 80)), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetUUID(gpu, null_mut(), 96)), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetMemoryInfo(gpu, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetMemoryInfo_v2(gpu, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetPciInfo_v3(gpu, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetCpuAffinity(gpu, 4, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetNvLinkState(gpu, 0, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetEccMode(gpu, null_mut(), null_mut())), INVALID);
    let processes =
        call!(machine, nvmlDeviceGetComputeRunningProcesses_v3(gpu, null_mut(), null_mut()));
    assert_eq!(processes, INVALID);
    assert_eq!(call!(machine, nvmlDeviceGetFieldValues(gpu, 1, null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlEventSetCreate(null_mut())), INVALID);
    assert_eq!(call!(machine, nvmlEventSetWait_v2(null_mut(), null_mut(), 0)), INVALID);
    assert_eq!(call!(machine, nvmlEventSetFree(null_mut())), INVALID);
}

#[test]
fn rubbish_handles_are_invalid_arguments() {
    let machine = open("pcie-2");
    let mut minor = 0;
    for number in [0, 1, 0xff, 3 << 8, 1 << 8 | 1, 0x7fff_dead_beef_0000, usize::MAX] {
        let handle: nvmlDevice_t = without_provenance_mut(number);
        let code = call!(machine, nvmlDeviceGetMinorNumber(handle, &raw mut minor));
        assert_eq!(code, INVALID, "{number:#x}");
    }
    let set: nvmlEventSet_t = without_provenance_mut(usize::MAX);
    // SAFETY: an all-zero event is a value of this plain C struct.
    let mut event: nvmlEventData_t = unsafe { zeroed() };
    assert_eq!(call!(machine, nvmlEventSetWait_v2(set, &raw mut event, 0)), INVALID);
}

#[test]
fn small_buffers_and_wrong_versions_are_refused() {
    let machine = open("pcie-2");
    let gpu: nvmlDevice_t = without_provenance_mut(1 << 8);
    let mut text = [1; 8];
    let mut ask = |room| call!(machine, nvmlDeviceGetName(gpu, text.as_mut_ptr(), room));
    assert_eq!(ask(8), TOO_SMALL, "no room for `NVIDIA A40`");
    assert_eq!(ask(0), TOO_SMALL);
    assert_eq!(text, [1; 8], "and nothing was written");
    // SAFETY: all-zero is a value of this plain C struct; its version is then 0.
    let mut memory: nvmlMemory_v2_t = unsafe { zeroed() };
    assert_eq!(call!(machine, nvmlDeviceGetMemoryInfo_v2(gpu, &raw mut memory)), WRONG_VERSION);
}

#[test]
fn before_the_start_and_after_the_end_nothing_answers() {
    let machine = open("pcie-2");
    let mut count = 0;
    assert_eq!(call!(machine, nvmlInit_v2()), GOOD, "a second user");
    assert_eq!(call!(machine, nvmlShutdown()), GOOD);
    assert_eq!(call!(machine, nvmlDeviceGetCount_v2(&raw mut count)), GOOD);
    assert_eq!(call!(machine, nvmlShutdown()), GOOD, "the last user");
    assert_eq!(call!(machine, nvmlDeviceGetCount_v2(&raw mut count)), UNINITIALIZED);
    assert_eq!(call!(machine, nvmlShutdown()), UNINITIALIZED);
}

#[test]
fn a_fabric_is_reported_in_its_one_version() {
    let text = std::fs::read_to_string(find::machine("pcie-2")).unwrap();
    let fabric = "fabric = { cluster_uuid = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16], clique = 7 }";
    let file = File::new("fabric", &format!("{fabric}\n{text}"));
    let machine = file.open();
    let gpu: nvmlDevice_t = without_provenance_mut(1 << 8);
    // SAFETY: all-zero is a value of this plain C struct; its version is then 0.
    let mut info: nvmlGpuFabricInfo_v3_t = unsafe { zeroed() };
    assert_eq!(call!(machine, nvmlDeviceGetGpuFabricInfoV(gpu, &raw mut info)), WRONG_VERSION);
    info.version = u32::try_from(size_of_val(&info)).unwrap() | 3 << 24;
    assert_eq!(call!(machine, nvmlDeviceGetGpuFabricInfoV(gpu, &raw mut info)), GOOD);
    assert_eq!((info.cliqueId, info.clusterUuid[15]), (7, 16));
}
