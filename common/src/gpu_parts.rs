//! Fractions of GPUs, shared with other jobs. Nothing isolates two jobs on one GPU
//! (docs/operating/nodes.md).

use crate::unit::{Bytes, GpuMilli, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The size of a fraction of a GPU.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PartSize {
    /// Thousandths of the GPU.
    Milli(GpuMilli),
    /// An amount of its memory, which is a smaller fraction of a larger GPU.
    Memory(Bytes),
}

/// The same fraction of each of N GPUs on one node.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct GpuParts {
    pub devices: Gpus,
    pub each: PartSize,
}

impl PartSize {
    /// The fraction of a GPU with this memory, rounded up to thousandths. More than
    /// [`GpuMilli::WHOLE`] if the GPU has less memory.
    #[must_use]
    pub fn gpu_fraction(self, memory: Bytes) -> GpuMilli {
        match self {
            Self::Milli(milli) => milli,
            Self::Memory(part) => {
                let whole = u128::from(GpuMilli::WHOLE.0);
                let milli = (u128::from(part.0) * whole).div_ceil(u128::from(memory.0).max(1));
                GpuMilli(u32::try_from(milli).unwrap_or(u32::MAX))
            }
        }
    }

    /// The fraction `free` of a GPU with this memory, in the unit of this size, rounded down;
    /// memory in whole mebibytes, so that users can request it.
    #[must_use]
    pub fn in_same_unit(self, free: GpuMilli, memory: Bytes) -> Self {
        match self {
            Self::Milli(_) => Self::Milli(free),
            Self::Memory(_) => {
                let bytes = u128::from(memory.0) * u128::from(free.0);
                let bytes = bytes / u128::from(GpuMilli::WHOLE.0);
                Self::Memory(Bytes::from_mib(u64::try_from(bytes >> 20).unwrap_or(u64::MAX)))
            }
        }
    }

    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Milli(GpuMilli::ZERO) | Self::Memory(Bytes::ZERO))
    }
}

/// The form in `--gpus`: `0.5`, `20G`.
impl fmt::Display for PartSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Milli(GpuMilli(milli)) => {
                let text = format!("{}.{:03}", milli / 1000, milli % 1000);
                f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
            }
            // The exact amount, in the largest unit that allows it.
            Self::Memory(Bytes(bytes)) => {
                let units = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
                let unit = units.into_iter().find(|(size, _)| bytes.is_multiple_of(*size));
                let (size, name) = unit.unwrap_or((1, "B"));
                write!(f, "{}{name}", bytes / size)
            }
        }
    }
}

impl GpuParts {
    #[must_use]
    pub const fn of_one(part: GpuMilli) -> Self {
        Self { devices: Gpus(1), each: PartSize::Milli(part) }
    }
}

/// The form in `--gpus`: `0.5`, `2x0.5`, `20G`, `2x20G`.
impl fmt::Display for GpuParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.devices != Gpus(1) {
            write!(f, "{}x", self.devices)?;
        }
        self.each.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn memory_is_a_smaller_part_of_a_larger_gpu_rounded_up() {
        let part = PartSize::Memory(Bytes(20 * GIB));
        assert_eq!(part.gpu_fraction(Bytes(80 * GIB)), GpuMilli(250));
        assert_eq!(part.gpu_fraction(Bytes(40 * GIB)), GpuMilli(500));
        assert_eq!(part.gpu_fraction(Bytes(80 * GIB - 1)), GpuMilli(251), "rounded up");
        assert_eq!(part.gpu_fraction(Bytes(16 * GIB)), GpuMilli(1250), "it does not fit");
        assert_eq!(part.gpu_fraction(Bytes(0)), GpuMilli(u32::MAX), "a GPU that does not say");
        assert_eq!(PartSize::Milli(GpuMilli(300)).gpu_fraction(Bytes(GIB)), GpuMilli(300));
    }

    #[test]
    fn the_rest_of_a_gpu_is_shown_as_users_request_it() {
        let (half, some) = (PartSize::Milli(GpuMilli(500)), PartSize::Memory(Bytes(GIB)));
        let gpu = Bytes(81_559 << 20);
        assert_eq!(half.in_same_unit(GpuMilli(250), gpu), PartSize::Milli(GpuMilli(250)));
        assert_eq!(some.in_same_unit(GpuMilli(1000), gpu), PartSize::Memory(gpu));
        for free in [1, 250, 333, 999, 1000].map(GpuMilli) {
            let left = some.in_same_unit(free, gpu);
            assert!(left.gpu_fraction(gpu) <= free, "{left} is more than {free} of {gpu}");
        }
        assert!(some.in_same_unit(GpuMilli(0), gpu).is_zero());
        assert!(half.in_same_unit(GpuMilli(0), gpu).is_zero());
        assert!(!half.is_zero() && !some.is_zero());
    }

    #[test]
    fn parts_are_written_as_users_request_them() {
        let memory = PartSize::Memory(Bytes(20 * GIB));
        let text = |devices, each| GpuParts { devices: Gpus(devices), each }.to_string();
        assert_eq!(text(1, PartSize::Milli(GpuMilli(500))), "0.5");
        assert_eq!(text(2, PartSize::Milli(GpuMilli(125))), "2x0.125");
        assert_eq!(PartSize::Milli(GpuMilli(1000)).to_string(), "1");
        assert_eq!(text(1, memory), "20G");
        assert_eq!(text(4, memory), "4x20G");
        assert_eq!(text(1, PartSize::Memory(Bytes(1536 << 20))), "1536M");
        assert_eq!(text(1, PartSize::Memory(Bytes(20_479 << 20))), "20479M");
        assert_eq!(text(1, PartSize::Memory(Bytes(7))), "7B");
    }
}
