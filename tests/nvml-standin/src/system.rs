//! The library as a whole: start, stop, versions, the words for error codes.

use crate::entry::{answer, machine};
use crate::ffi::{Array, Fault, Out, described, put, put_text};
use crate::state;
use nvml_wrapper_sys::bindings::*;
use std::ffi::{c_char, c_int, c_uint};

/// Loads the machine file.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    answer(state::init)
}

/// As [`nvmlInit_v2`]: the stand-in has nothing that a flag could leave out.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    answer(state::init)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    answer(state::shutdown)
}

/// A few words for a return code.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let words = match Fault(result) {
        Fault(nvmlReturn_enum_NVML_SUCCESS) => c"Success",
        Fault::UNINITIALIZED => c"Uninitialized",
        Fault::INVALID => c"Invalid argument",
        Fault::NOT_SUPPORTED => c"Not supported",
        Fault::NOT_FOUND => c"Not found",
        Fault::TOO_SMALL => c"Insufficient size",
        Fault::DRIVER_NOT_LOADED => c"Driver not loaded",
        Fault::LIB_MISMATCH => c"Driver/library version mismatch",
        Fault::LOST => c"GPU is lost",
        Fault::TIMEOUT => c"Timeout",
        _ => c"Unknown error",
    };
    words.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlSystemGetDriverVersion(text: Array<c_char>, length: c_uint) -> nvmlReturn_t {
    machine(|machine| put_text(text, length, &machine.driver))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlSystemGetNVMLVersion(text: Array<c_char>, length: c_uint) -> nvmlReturn_t {
    machine(|machine| put_text(text, length, &described(&machine.nvml)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: Out<c_int>) -> nvmlReturn_t {
    machine(|machine| put(version, described(&machine.cuda)?))
}

/// The command of a process that the machine file names.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlSystemGetProcessName(
    pid: c_uint,
    name: Array<c_char>,
    length: c_uint,
) -> nvmlReturn_t {
    machine(|machine| {
        let mut processes = machine.gpus.iter().flat_map(|gpu| &gpu.processes);
        let process = processes.find(|process| process.pid == pid).ok_or(Fault::NOT_FOUND)?;
        put_text(name, length, &described(&process.name)?)
    })
}
