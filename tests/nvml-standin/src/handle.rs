//! Handles: small numbers in a pointer's clothes, `(GPU index + 1) << 8 | (MIG slot + 1)`, with 0
//! for "no MIG device". Never dereferenced.

use nvml_wrapper_sys::bindings::nvmlDevice_t;
use std::ptr::without_provenance_mut;

/// A device as callers hold it; any value may come in.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Handle(nvmlDevice_t);

impl Handle {
    /// The handle of a whole GPU.
    pub fn gpu(index: usize) -> Self {
        Self(without_provenance_mut((index + 1) << 8))
    }

    /// The handle of the MIG device in a slot of a GPU.
    pub fn mig(index: usize, slot: usize) -> Self {
        Self(without_provenance_mut((index + 1) << 8 | (slot + 1)))
    }

    /// The GPU's index, and the MIG slot if it names a MIG device; `None` for null and rubbish.
    pub fn parts(self) -> Option<(usize, Option<usize>)> {
        let number = self.0.addr();
        Some(((number >> 8).checked_sub(1)?, (number & 0xff).checked_sub(1)))
    }

    /// As it stands in NVML's structs.
    pub fn raw(self) -> nvmlDevice_t {
        self.0
    }
}
