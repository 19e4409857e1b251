//! The one way in: takes the lock, refreshes the machine from its file, checks the handle, and
//! turns faults and panics into return codes. Never calls back into the caller.

use crate::ffi::{Answer, Fault};
use crate::handle::Handle;
use crate::machine::{Gpu, Machine, Mig};
use crate::state::{self, State};
use nvml_wrapper_sys::bindings::{nvmlReturn_enum_NVML_SUCCESS, nvmlReturn_t};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a handle names.
pub struct Device<'a> {
    pub machine: &'a Machine,
    pub index: usize,
    pub gpu: &'a Gpu,
    /// The MIG device and its slot, if the handle names one.
    pub mig: Option<(usize, &'a Mig)>,
}

/// Runs a call to its return code. A panic becomes NVML_ERROR_UNKNOWN: none may leave the library.
pub fn answer(call: impl FnOnce() -> Answer) -> nvmlReturn_t {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => nvmlReturn_enum_NVML_SUCCESS,
        Ok(Err(Fault(code))) => code,
        Err(_) => Fault::UNKNOWN.0,
    }
}

/// A call about everything loaded.
pub fn with_state(call: impl FnOnce(&mut State) -> Answer) -> nvmlReturn_t {
    answer(|| state::with(call))
}

/// A call about the machine.
pub fn machine(call: impl FnOnce(&Machine) -> Answer) -> nvmlReturn_t {
    with_state(|state| call(&state.machine))
}

/// A call about a GPU or a MIG device.
pub fn device(handle: Handle, call: impl FnOnce(Device) -> Answer) -> nvmlReturn_t {
    machine(|machine| call(find_device(machine, handle)?))
}

/// A call that only whole GPUs answer; a MIG device is an invalid argument.
pub fn gpu(handle: Handle, call: impl FnOnce(Device) -> Answer) -> nvmlReturn_t {
    device(handle, |device| match device.mig {
        None => call(device),
        Some(_) => Err(Fault::INVALID),
    })
}

/// A call about two GPUs.
pub fn pair(a: Handle, b: Handle, call: impl FnOnce(Device, Device) -> Answer) -> nvmlReturn_t {
    machine(|machine| call(find_device(machine, a)?, find_device(machine, b)?))
}

fn find_device(machine: &Machine, handle: Handle) -> Answer<Device<'_>> {
    let (index, slot) = handle.parts().ok_or(Fault::INVALID)?;
    let gpu = machine.gpus.get(index).ok_or(Fault::INVALID)?;
    if gpu.lost {
        return Err(Fault::LOST);
    }
    let mig = match slot {
        None => None,
        Some(slot) => Some((slot, gpu.mig_in(slot).ok_or(Fault::INVALID)?)),
    };
    Ok(Device { machine, index, gpu, mig })
}
