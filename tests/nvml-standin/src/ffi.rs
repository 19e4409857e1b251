//! Everything that touches a caller's memory: outputs, arrays and texts. The rest of the crate has
//! no `unsafe`. Never keeps a pointer beyond the call it came with.

use nvml_wrapper_sys::bindings::*;
use std::ffi::{CStr, c_char, c_uint};
use std::mem::MaybeUninit;
use std::os::raw::c_ulong;

/// Why a call failed: one of NVML's return codes, never NVML_SUCCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault(pub nvmlReturn_t);

/// What a call comes to.
pub type Answer<T = ()> = Result<T, Fault>;

impl Fault {
    pub const UNINITIALIZED: Self = Self(nvmlReturn_enum_NVML_ERROR_UNINITIALIZED);
    pub const INVALID: Self = Self(nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT);
    pub const NOT_SUPPORTED: Self = Self(nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED);
    pub const NOT_FOUND: Self = Self(nvmlReturn_enum_NVML_ERROR_NOT_FOUND);
    pub const TOO_SMALL: Self = Self(nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE);
    pub const VERSION: Self = Self(nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    pub const DRIVER_NOT_LOADED: Self = Self(nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED);
    pub const LIB_MISMATCH: Self = Self(nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH);
    pub const LOST: Self = Self(nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST);
    pub const TIMEOUT: Self = Self(nvmlReturn_enum_NVML_ERROR_TIMEOUT);
    pub const UNKNOWN: Self = Self(nvmlReturn_enum_NVML_ERROR_UNKNOWN);
}

/// An output the caller need not have initialised; null is `None`.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// A value the caller set and wants changed, such as a capacity; null is `None`.
pub type InOut<'a, T> = Option<&'a mut T>;

pub fn put<T>(out: Out<T>, value: T) -> Answer {
    out.ok_or(Fault::INVALID)?.write(value);
    Ok(())
}

/// A described value, or NOT_SUPPORTED: what the file leaves out, the GPU cannot tell.
pub fn described<T: Clone>(value: &Option<T>) -> Answer<T> {
    value.clone().ok_or(Fault::NOT_SUPPORTED)
}

/// NVML's two states of a switch.
pub fn enabled(on: bool) -> nvmlEnableState_t {
    if on { nvmlEnableState_enum_NVML_FEATURE_ENABLED } else { 0 }
}

/// NVML counts in `unsigned int`; a stand-in machine never has more than that of anything.
pub fn count_of(n: usize) -> c_uint {
    c_uint::try_from(n).unwrap_or(c_uint::MAX)
}

/// An array that the caller allocated; its length comes as another argument.
#[repr(transparent)]
pub struct Array<T>(*mut T);

impl<T> Array<T> {
    fn slots(&mut self, len: usize) -> Answer<&mut [MaybeUninit<T>]> {
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(Fault::INVALID);
        }
        // SAFETY: not null and aligned; NVML's contract makes the caller allocate `len` elements
        // and leave them alone during the call. MaybeUninit asks nothing of their contents.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.cast(), len) })
    }

    /// Writes `items` and then `rest`, `len` elements in all; TOO_SMALL when they do not fit.
    fn fill(mut self, len: c_uint, items: &[T], rest: T) -> Answer
    where
        T: Copy,
    {
        let slots = self.slots(len as usize)?;
        if items.len() > slots.len() {
            return Err(Fault::TOO_SMALL);
        }
        for (i, slot) in slots.iter_mut().enumerate() {
            slot.write(items.get(i).copied().unwrap_or(rest));
        }
        Ok(())
    }

    /// Changes every element in place.
    pub fn edit(mut self, len: usize, change: impl Fn(&mut T)) -> Answer {
        for slot in self.slots(len)? {
            // SAFETY: the functions that take such an array demand that the caller fills it in.
            change(unsafe { slot.assume_init_mut() });
        }
        Ok(())
    }
}

/// Writes a text and its final zero into a buffer of `len` bytes.
pub fn put_text(buffer: Array<c_char>, len: c_uint, text: &str) -> Answer {
    let mut bytes: Vec<c_char> = text.bytes().map(|b| b as c_char).collect();
    bytes.push(0);
    buffer.fill(len, &bytes, 0)
}

/// Writes numbers as a bit mask of `len` words; those that do not fit are left out, as NVML does.
pub fn put_mask(words: Array<c_ulong>, len: c_uint, numbers: &[u32]) -> Answer {
    let mut mask: Vec<c_ulong> = vec![0; len as usize];
    for number in numbers {
        if let Some(word) = mask.get_mut((number / c_ulong::BITS) as usize) {
            *word |= 1 << (number % c_ulong::BITS);
        }
    }
    words.fill(len, &mask, 0)
}

/// NVML's usual list: the caller says how much room there is and learns how much there is to tell.
pub fn put_list<T: Copy>(count: InOut<c_uint>, array: Array<T>, items: &[T]) -> Answer {
    let count = count.ok_or(Fault::INVALID)?;
    let room = std::mem::replace(count, count_of(items.len()));
    match items.last() {
        None => Ok(()),
        Some(_) if (room as usize) < items.len() => Err(Fault::TOO_SMALL),
        Some(_) => array.fill(count_of(items.len()), items, items[0]),
    }
}

/// As [`put_list`] for the one function where asking with no room is no error.
pub fn put_list_or_count<T: Copy>(count: InOut<c_uint>, array: Array<T>, items: &[T]) -> Answer {
    let asking = count.as_ref().is_some_and(|room| **room == 0);
    match put_list(count, array, items) {
        Err(Fault::TOO_SMALL) if asking => Ok(()),
        answer => answer,
    }
}

/// A zero-ended text of the caller's.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// Copies it; INVALID for null and for bytes that are no UTF-8.
    pub fn read(&self) -> Answer<String> {
        if self.0.is_null() {
            return Err(Fault::INVALID);
        }
        // SAFETY: not null; NVML's contract makes the caller end the text with a zero and leave it
        // alone during the call. It is copied before this function returns.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Fault::INVALID)
    }
}

/// A text in a fixed array of a C struct, cut if too long, always zero-ended.
pub fn text_array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, from) in array.iter_mut().take(N.saturating_sub(1)).zip(text.bytes()) {
        *to = from as c_char;
    }
    array
}

/// The version word of a versioned NVML struct: its size and its number.
pub fn version_word<T>(number: c_uint) -> c_uint {
    count_of(std::mem::size_of::<T>()) | number << 24
}
